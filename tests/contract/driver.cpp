// SPDX-License-Identifier: Apache-2.0
// Resolves the entries as the loader does: by base name and ABI version.
#include "contract/driver.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace hostlaunch::contract {
namespace {

struct opened {
    void* handle = nullptr;
    get_proc_address_fn get = nullptr;
    table entries{};

    opened();
    template <class Function>
    void find(Function& field, const char* name, int version) const {
        void* address = nullptr;
        if (get(name, &address, version, 0, nullptr) != success) address = nullptr;
        std::memcpy(&field, &address, sizeof address);
    }
};

opened::opened() {
    const std::string path = chosen_library();
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle == nullptr) throw std::runtime_error(path + " is not loaded");
    void* address = dlsym(handle, "cuGetProcAddress_v2");
    std::memcpy(&get, &address, sizeof address);
#define HOSTLAUNCH_DRIVER_ENTRY(field, name, version, need, params) \
    find(entries.field, #name, version);
#include "driver/entries.def"
#undef HOSTLAUNCH_DRIVER_ENTRY
#define HOSTLAUNCH_CONTRACT_ENTRY(field, name, version, params) find(entries.field, #name, version);
#include "contract/extra_entries.def"
#undef HOSTLAUNCH_CONTRACT_ENTRY
}

// Never destroyed: host functions may still use it while the process exits.
const opened& the_driver() {
    static const opened& d = *new opened;
    return d;
}

}  // namespace

const table& api() {
    return the_driver().entries;
}

bool on_embedded() {
    return embedded_knob("hostlaunch_embedded_reset") != nullptr;
}

int driver_version() {
    int version = 0;
    api().driver_get_version(&version);
    return version;
}

get_proc_address_fn get_proc_address() {
    return the_driver().get;
}

void* embedded_knob(const char* name) {
    return dlsym(the_driver().handle, name);
}

void prefer_two_devices() {
    setenv("HOSTLAUNCH_EMBEDDED_DEVICES", "2", 0);
}

}  // namespace hostlaunch::contract
