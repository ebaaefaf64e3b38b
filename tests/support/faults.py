# SPDX-License-Identifier: Apache-2.0
"""A sticky error: by a kernel that writes where nothing is, or by the embedded driver's knob."""

import ctypes

import embedded

ILLEGAL_ADDRESS = embedded.ILLEGAL_ADDRESS

# Where modules are loaded lazily, the first launch of a kernel waits for running host functions.
ENVIRONMENT = {"CUDA_MODULE_LOADING": "EAGER"}

KERNEL = """
.version 7.0
.target %s
.address_size 64
.visible .entry write_where_nothing_is() {
    .reg .u64 %%at;
    .reg .u32 %%value;
    mov.u64 %%at, 16;
    mov.u32 %%value, 1;
    st.global.u32 [%%at], %%value;
    ret;
}
"""


class Fault:
    """Breaks the process for good once the stream that it was enqueued on gets there."""

    def __init__(self, cu, device=0):
        if embedded.in_use():
            return
        before = cu.current_context()
        cu.set_current(cu.primary_context(device))
        self.cu, self.module, self.kernel = cu, ctypes.c_void_p(), ctypes.c_void_p()
        for target in ("sm_70", "sm_80"):
            image = (KERNEL % target).encode()
            if cu.library.cuModuleLoadData(ctypes.byref(self.module), image) == 0:
                break
        name = b"write_where_nothing_is"
        cu.call("cuModuleGetFunction", ctypes.byref(self.kernel), self.module, name)
        cu.set_current(before)

    def enqueue(self, stream):
        """Enqueue the kernel on a stream of its device; requires: no lazy loading."""
        if embedded.in_use():
            return
        before = self.cu.current_context()
        self.cu.set_current(self.cu.primary_context(stream.device_id))
        sizes = [ctypes.c_uint(1)] * 6
        at = ctypes.c_void_p(stream.handle)
        self.cu.call("cuLaunchKernel", self.kernel, *sizes, ctypes.c_uint(0), at, None, None)
        self.cu.set_current(before)

    def strike(self):
        """Call it where what holds the stream is about to let go."""
        if embedded.in_use():
            embedded.knobs().sticky_error(ILLEGAL_ADDRESS)

    def is_visible(self):
        """Tell whether calls on every device answer with the error."""
        if embedded.in_use():
            return True
        before = self.cu.current_context()
        probe = ctypes.c_void_p()
        seen = []
        for device in range(self.cu.device_count()):
            self.cu.set_current(self.cu.primary_context(device))
            code = self.cu.library.cuEventCreate(ctypes.byref(probe), ctypes.c_uint(2))
            seen.append(code == ILLEGAL_ADDRESS)
        self.cu.set_current(before)
        return all(seen)
