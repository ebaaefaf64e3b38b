// SPDX-License-Identifier: Apache-2.0
// The exception classes live in hostlaunch/_errors.py; here they are raised.
#include "arguments/errors.hpp"

#include <atomic>
#include <optional>

#include "core/lifecycle.hpp"

namespace hostlaunch::python {
namespace {

// Kept to process end, like the module.
PyObject* cuda_error = nullptr;
PyObject* embedded_driver_warning = nullptr;
std::atomic<bool> warned{false};

bool load_driver(int warning_stack_level) {
    std::optional<error> failure;
    without_gil([&failure] {
        try {
            (void)core::enter_driver();
        } catch (const error& e) {
            failure = e;
        }
        return 0;
    });
    if (failure) {
        set_error(*failure);
        return false;
    }
    // A child forked while the driver was being loaded never gets one; may_enter says why.
    if (!core::has_driver()) return true;
    const std::string reason = core::driver_in_use().fallback_reason;
    if (reason.empty() || warned.exchange(true)) return true;
    const owned text = decoded(
        "hostlaunch uses its embedded driver, which runs on the CPU: " + reason +
        ". Set HOSTLAUNCH_DRIVER=embedded to choose it silently, or HOSTLAUNCH_DRIVER=cuda to make "
        "this an error");
    return text &&
           PyErr_WarnFormat(embedded_driver_warning, warning_stack_level, "%U", text.get()) == 0;
}

}  // namespace

void set_error(const error& e) {
    const owned text = decoded(e.what());
    if (!text) return;
    if (e.code() < 0) {
        PyErr_SetObject(PyExc_RuntimeError, text.get());
        return;
    }
    const owned instance(
        PyObject_CallFunction(cuda_error, "Ois", text.get(), e.code(), e.name().c_str()));
    if (instance) PyErr_SetObject(cuda_error, instance.get());
}

void set_error(core::status s, const char* attempted) {
    // Detached: the words for it come from the driver.
    set_error(without_gil([&] { return core::to_error(s, attempted); }));
}

bool may_enter(const char* attempted) {
    const core::status s = core::may_enter();
    if (s.ok()) return true;
    set_error(s, attempted);
    return false;
}

bool enter_driver(const char* attempted, int warning_stack_level) {
    return (core::has_driver() || load_driver(warning_stack_level)) && may_enter(attempted);
}

bool init_errors() {
    const owned module(PyImport_ImportModule("hostlaunch._errors"));
    if (!module) return false;
    cuda_error = PyObject_GetAttrString(module.get(), "CUDAError");
    embedded_driver_warning = PyObject_GetAttrString(module.get(), "EmbeddedDriverWarning");
    return cuda_error != nullptr && embedded_driver_warning != nullptr;
}

}  // namespace hostlaunch::python
