// SPDX-License-Identifier: Apache-2.0
// The client's half of NVTX: finding the tool, and calling it around each run.
#include "diagnosis/nvtx.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>

#include "core/task/trace.hpp"
#include "diagnosis/nvtx_abi.hpp"
#include "driver/settings.hpp"

namespace hostlaunch::diagnosis {
namespace {

namespace abi = nvtx_abi;

// The places that a tool fills. Filled before start_nvtx returns, only read afterwards.
constexpr unsigned most_slots = 16;
constexpr std::size_t modules = std::size(abi::slots_of_module);
std::array<std::array<abi::any_function, most_slots>, modules> functions{};
std::array<std::array<abi::any_function*, most_slots>, modules> places{};

abi::domain our_domain = nullptr;
// A tool's handle of each name; read and written without order: both ways lead to a valid handle.
std::array<std::atomic<abi::registered_string>, 4096> registered{};

int get_slots(int module, abi::slots* out, unsigned* out_count) {
    if (module < 1 || static_cast<std::size_t>(module) >= modules) return 0;
    const auto m = static_cast<std::size_t>(module);
    if (out != nullptr) *out = places[m].data();
    if (out_count != nullptr) *out_count = abi::slots_of_module[m];
    return 1;
}

void ignore_tool_version(std::uint32_t) {}

constexpr abi::callbacks callbacks_table{sizeof(abi::callbacks), &get_slots};
constexpr abi::version_info version_table{sizeof(abi::version_info), abi::version, 0,
                                          &ignore_tool_version};

const void* get_export_table(std::uint32_t id) {
    if (id == abi::callbacks_table) return &callbacks_table;
    return id == abi::version_table ? static_cast<const void*>(&version_table) : nullptr;
}

template <class Function>
Function function_at(unsigned slot) noexcept {
    return reinterpret_cast<Function>(functions[abi::core2][slot]);
}

// The tool keeps a registered string: cheaper for it than a text each time.
void set_message(abi::event_attributes& event, core::name_id name) noexcept {
    const auto make = function_at<abi::register_string_fn>(abi::domain_register_string);
    if (name < registered.size() && make != nullptr) {
        abi::registered_string known = registered[name].load(std::memory_order_relaxed);
        if (known == nullptr) known = make(our_domain, core::text_of(name));
        registered[name].store(known, std::memory_order_relaxed);
        if (known != nullptr) {
            event.message_type = abi::registered_message;
            event.message = known;
            return;
        }
    }
    event.message_type = abi::ascii_message;
    event.message = core::text_of(name);
}

void begins(core::name_id name) noexcept {
    const auto push = function_at<abi::push_fn>(abi::domain_range_push);
    if (push == nullptr) return;
    abi::event_attributes event{};
    event.version = abi::version;
    event.size = sizeof event;
    set_message(event, name);
    push(our_domain, &event);
}

void ends() noexcept {
    const auto pop = function_at<abi::pop_fn>(abi::domain_range_pop);
    if (pop != nullptr) pop(our_domain);
}

constexpr core::trace::live_reader reader{&begins, &ends};

void make_places() noexcept {
    for (std::size_t m = 1; m < modules; ++m) {
        for (unsigned slot = 1; slot < abi::slots_of_module[m]; ++slot)
            places[m][slot] = &functions[m][slot];
    }
}

// As NVTX's own loader does: the library stays if it wants to be the tool.
bool load_tool(const char* path) noexcept {
    void* library = dlopen(path, RTLD_LAZY);
    if (library == nullptr) return false;
    const auto initialize = reinterpret_cast<abi::initialize_injection>(dlsym(library, abi::entry));
    if (initialize != nullptr && initialize(&get_export_table) != 0) return true;
    functions = {};
    dlclose(library);
    return false;
}

bool load_and_listen() noexcept {
    const char* path = settings::text(abi::path_variable);
    if (path == nullptr) return false;
    make_places();
    if (!load_tool(path)) return false;
    const auto create = function_at<abi::create_domain_fn>(abi::domain_create);
    if (create != nullptr) our_domain = create("hostlaunch");
    core::trace::set_live_reader(reader);
    core::trace::add_reader(core::trace::nvtx);
    return true;
}

}  // namespace

bool start_nvtx() noexcept {
    static const bool started = load_and_listen();
    return started;
}

}  // namespace hostlaunch::diagnosis
