// SPDX-License-Identifier: Apache-2.0
// Chooses the driver library once per process and latches the outcome.
#include "driver/driver.hpp"

#include <atomic>
#include <memory>
#include <mutex>

#include "driver/load.hpp"
#include "driver/settings.hpp"
#include "hostlaunch/error.hpp"

namespace hostlaunch::driver_library {
namespace {

struct choice {
    library lib;
    attempt how;
};

std::once_flag once;
// Never destroyed: driver threads may look at it while the process exits. Release in make_choice,
// acquire in the_choice.
constinit std::atomic<const choice*> made{nullptr};

class loading_scope {
  public:
    loading_scope() noexcept { detail::loading.fetch_add(1); }
    ~loading_scope() { detail::loading.fetch_sub(1); }
    loading_scope(const loading_scope&) = delete;
    loading_scope& operator=(const loading_scope&) = delete;
};

attempt choose_auto(library& lib) {
    attempt cuda = open_cuda_library(lib);
    if (cuda.how == attempt::outcome::ready || cuda.how == attempt::outcome::failed) return cuda;
    library embedded;
    attempt second = open_embedded_library(embedded);
    if (second.how != attempt::outcome::ready) {
        second.reason = cuda.reason + ", and the embedded driver failed: " + second.reason;
        return second;
    }
    embedded.fallback_reason = cuda.how == attempt::outcome::absent
                                   ? "no NVIDIA driver library (libcuda.so.1) was found"
                                   : cuda.reason;
    lib = std::move(embedded);
    return second;
}

void choose(choice& c) {
    const char* said = settings::text("HOSTLAUNCH_DRIVER");
    const std::string wanted = said != nullptr ? said : "auto";
    if (wanted == "auto") {
        c.how = choose_auto(c.lib);
    } else if (wanted == "cuda") {
        c.how = open_cuda_library(c.lib);
    } else if (wanted == "embedded") {
        c.how = open_embedded_library(c.lib);
    } else if (wanted.find('/') != std::string::npos) {
        c.how = open_library(wanted, c.lib);
    } else {
        c.how.code = static_cast<int>(misuse::driver_unavailable);
        c.how.reason = "HOSTLAUNCH_DRIVER is '" + wanted +
                       "'; it must be auto, cuda, embedded, or a path that contains a '/'";
    }
}

void make_choice() {
    auto c = std::make_unique<choice>();
    choose(*c);
    const choice& latched = *c.release();
    // In this order: whoever finds the driver loaded finds the choice too.
    made.store(&latched, std::memory_order_release);
    if (latched.how.how == attempt::outcome::ready) {
        detail::in_use.store(&latched.lib.fn, std::memory_order_release);
    }
}

const choice& the_choice() {
    if (const choice* c = made.load(std::memory_order_acquire)) return *c;
    const loading_scope loading;  // first: a fork finds it set whenever the flag is in use
    std::call_once(once, &make_choice);
    return *made.load(std::memory_order_acquire);
}

}  // namespace

const library& load() {
    const choice& c = the_choice();
    if (c.how.how != attempt::outcome::ready) {
        const std::string name = c.how.code > 0
                                     ? error_name(c.how.code)
                                     : std::string("HOSTLAUNCH_ERROR_DRIVER_UNAVAILABLE");
        throw error(c.how.code, name, "no usable CUDA driver: " + c.how.reason);
    }
    return c.lib;
}

std::string error_name(result code) {
    const char* name = nullptr;
    if (is_loaded() && api().get_error_name(code, &name) == abi::success && name != nullptr)
        return name;
    if (code == abi::error_stub_library) return "CUDA_ERROR_STUB_LIBRARY";
    if (code == abi::error_no_device) return "CUDA_ERROR_NO_DEVICE";
    return "CUDA_ERROR_" + std::to_string(code);
}

std::string error_text(result code) {
    const char* text = nullptr;
    if (is_loaded() && api().get_error_string(code, &text) == abi::success && text != nullptr)
        return text;
    return {};
}

}  // namespace hostlaunch::driver_library
