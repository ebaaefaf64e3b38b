// SPDX-License-Identifier: Apache-2.0
// Where our own object lies, asked of the kernel and of the loader's list of objects.
#include "driver/place.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <utility>

#include "driver/settings.hpp"

namespace hostlaunch::driver_library {
namespace {

constexpr const char* embedded_file = "libhostlaunch_embedded.so";

struct own_object {
    std::string loaded_as;  // the loader's name of it; empty for the program itself
    std::string real_file;  // where it was mapped from, by absolute path; empty if nothing tells
    std::string run_path;   // as the linker wrote it
};

// The name of the mapped file in a line of /proc/self/maps, empty if there is none or it is of
// another part of memory. (A file that was replaced has " (deleted)" behind it; its folder stands.)
std::string file_in(const std::string& line, std::uintptr_t address) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    const char* last = line.data() + line.size();
    const auto first = std::from_chars(line.data(), last, begin, 16);
    if (first.ptr == last) return {};
    std::from_chars(first.ptr + 1, last, end, 16);
    const auto name = line.find('/');
    if (address < begin || address >= end || name == std::string::npos) return {};
    std::string file = line.substr(name);
    constexpr std::string_view newline = "\\012";
    for (auto at = file.find(newline); at != std::string::npos; at = file.find(newline))
        file.replace(at, newline.size(), "\n");
    return file;
}

// Not /proc/self/exe: that is the loader, where a program is started through it by name.
std::string file_mapped_at(std::uintptr_t address) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::string file = file_in(line, address);
        if (!file.empty()) return file;
    }
    return {};
}

const char* address_of_strings(const link_map& map, ElfW(Addr) strings) {
    // The loader has added where the object lies, but for some objects (and in other C libraries).
    const ElfW(Addr) at = strings < map.l_addr ? map.l_addr + strings : strings;
    return reinterpret_cast<const char*>(at);
}

std::string run_path_of(const link_map& map) {
    ElfW(Addr) strings = 0;
    std::array<ElfW(Xword), 2> at{};  // of the old and of the new kind, which replaces it
    for (const ElfW(Dyn)* entry = map.l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
        if (entry->d_tag == DT_RPATH) at[0] = entry->d_un.d_val;
        if (entry->d_tag == DT_RUNPATH) at[1] = entry->d_un.d_val;
    }
    const ElfW(Xword) chosen = at[1] != 0 ? at[1] : at[0];
    if (strings == 0 || chosen == 0) return {};
    return address_of_strings(map, strings) + chosen;
}

own_object find_own_object() {
    void* const own_code = reinterpret_cast<void*>(&own_run_path);
    Dl_info unused{};
    void* found = nullptr;
    if (dladdr1(own_code, &unused, &found, RTLD_DL_LINKMAP) == 0 || found == nullptr) return {};
    const auto& map = *static_cast<const link_map*>(found);
    // Not where the code is: some programs copy that into memory of their own, on larger pages.
    const auto data = reinterpret_cast<std::uintptr_t>(map.l_ld);
    return {map.l_name != nullptr ? map.l_name : "", file_mapped_at(data), run_path_of(map)};
}

std::string folder_of(const std::string& file) {
    return file.substr(0, file.rfind('/'));
}

bool may_look_beside(const own_object& own) {
    return !own.loaded_as.empty() || !settings::is_privileged();
}

std::string origin_of(const own_object& own) {
    return own.real_file.empty() || !may_look_beside(own) ? std::string{}
                                                          : folder_of(own.real_file);
}

}  // namespace

bool may_read(const std::string& path) {
    return faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0;
}

std::vector<std::string> run_path_folders(std::string_view run_path, std::string_view origin) {
    std::vector<std::string> folders;
    while (!run_path.empty()) {
        const auto end = std::min(run_path.find(':'), run_path.size());
        std::string_view folder = run_path.substr(0, end);
        run_path.remove_prefix(std::min(end + 1, run_path.size()));
        std::string begin;
        for (const std::string_view name : {"$ORIGIN", "${ORIGIN}"}) {
            if (origin.empty() || !folder.starts_with(name)) continue;
            begin = origin;
            folder.remove_prefix(name.size());
        }
        const bool known = folder.find('$') == std::string_view::npos;
        if (known && (folder.starts_with('/') || (folder.empty() && !begin.empty())))
            folders.push_back(begin.append(folder));
    }
    return folders;
}

std::vector<std::string> own_run_path() {
    const own_object own = find_own_object();
    return run_path_folders(own.run_path, origin_of(own));
}

std::vector<std::string> embedded_library_places() {
    const own_object own = find_own_object();
    std::vector<std::string> places;
    const auto add = [&places](std::string place) {
        if (std::find(places.begin(), places.end(), place) == places.end())
            places.push_back(std::move(place));
    };
    if (may_look_beside(own)) {
        for (const std::string& file : {own.loaded_as, own.real_file}) {
            if (file.starts_with('/')) add(folder_of(file) + "/" + embedded_file);
        }
    }
    for (const std::string& folder : run_path_folders(own.run_path, origin_of(own)))
        add(folder + "/" + embedded_file);
#ifdef HOSTLAUNCH_EMBEDDED_BUILD_PATH
    add(HOSTLAUNCH_EMBEDDED_BUILD_PATH);
#endif
#ifdef HOSTLAUNCH_EMBEDDED_INSTALL_PATH
    add(HOSTLAUNCH_EMBEDDED_INSTALL_PATH);
#endif
    return places;
}

}  // namespace hostlaunch::driver_library
