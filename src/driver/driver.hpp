// SPDX-License-Identifier: Apache-2.0
// The CUDA driver as a table of functions from a library that is chosen and loaded at run time.
//
// Threads: `load` may be called from any thread; the first call does the work, the others wait for
// it without any other lock. `api` is a plain load. A failure is latched: it is told again, with
// its reason, by every later call. The library is never unloaded.
#pragma once

#include <atomic>
#include <string>

#include "driver/abi.hpp"

namespace hostlaunch::driver_library {

// The names that the signatures in entries.def use.
using abi::capture_mode;
using abi::capture_status;
using abi::context;
using abi::device;
using abi::device_ptr;
using abi::event;
using abi::exec_update_result;
using abi::graph;
using abi::graph_exec;
using abi::graph_node;
using abi::host_fn;
using abi::host_node_params;
using abi::result;
using abi::stream;
using abi::user_object;

struct table {
#define HOSTLAUNCH_DRIVER_ENTRY(field, name, version, need, params) result(*field) params;
#include "driver/entries.def"
#undef HOSTLAUNCH_DRIVER_ENTRY
};

enum class kind { cuda, embedded };

struct library {
    table fn;
    kind which = kind::cuda;
    int version = 0;              // as cuDriverGetVersion tells it, 13000 for CUDA 13.0
    std::string path;             // of the file that was loaded
    std::string fallback_reason;  // why `auto` took the embedded driver, empty if it did not
};

// The chosen and initialised driver. Throws hostlaunch::error if there is none.
// Reads HOSTLAUNCH_DRIVER on the first call: "auto" (or unset), "cuda", "embedded" or a path.
const library& load();

namespace detail {
// Set once, when `load` has succeeded. Release there, acquire here.
inline constinit std::atomic<const table*> in_use{nullptr};
// How many threads are inside a `load` that has not come to an outcome.
inline constinit std::atomic<unsigned> loading{0};
}  // namespace detail

// True once `load` has succeeded: the driver is initialised in this process.
inline bool is_loaded() noexcept {
    return detail::in_use.load(std::memory_order_acquire) != nullptr;
}

// True while the first `load` is in progress. A child forked then must not call `load`: the thread
// that it would wait for is not there, and what that thread began cannot be begun again.
inline bool is_loading() noexcept {
    return detail::loading.load() != 0;
}

// The functions of the loaded driver. requires: is_loaded().
inline const table& api() noexcept {
    return *detail::in_use.load(std::memory_order_acquire);
}

// The driver's name of a result, or "CUDA_ERROR_<number>" where it knows none.
std::string error_name(result code);

// The driver's one-line description of a result; empty where it has none.
std::string error_text(result code);

}  // namespace hostlaunch::driver_library
