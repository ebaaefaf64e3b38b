// SPDX-License-Identifier: Apache-2.0
// Multi-phase modules execute their slots in order, so one more is put before them.
#include "cpython/module_guard.hpp"

namespace hostlaunch::python {
namespace {

Py_ssize_t count_slots(const PyModuleDef_Slot* slots) noexcept {
    Py_ssize_t count = 0;
    while (slots != nullptr && slots[count].slot != 0)
        ++count;
    return count;
}

}  // namespace

PyObject* check_first(PyObject* definition, int (*check)(PyObject* module)) noexcept {
    if (definition == nullptr) return nullptr;
    auto* def = reinterpret_cast<PyModuleDef*>(definition);
    const Py_ssize_t count = count_slots(def->m_slots);
    // Kept to process end, as the definition is.
    auto* slots = static_cast<PyModuleDef_Slot*>(
        PyMem_RawCalloc(static_cast<std::size_t>(count) + 2, sizeof(PyModuleDef_Slot)));
    if (slots == nullptr) return PyErr_NoMemory();
    slots[0] = {Py_mod_exec, reinterpret_cast<void*>(check)};
    for (Py_ssize_t i = 0; i < count; ++i)
        slots[i + 1] = def->m_slots[i];
    def->m_slots = slots;
    return definition;
}

}  // namespace hostlaunch::python
