# SPDX-License-Identifier: Apache-2.0
"""Host memory that copies of every device read: pinned by us, or registered by somebody else."""

import ctypes
import mmap

from hostlaunch import Buffer

NBYTES = 4096
PORTABLE = 1


def can_register(cu):
    """Tell whether the driver takes memory that it did not allocate."""
    return hasattr(cu.library, "cuMemHostRegister_v2")


class Registered:
    """Host memory that the driver was told of: as good as pinned memory."""

    def __init__(self, cu):
        self.cu = cu
        self.memory = mmap.mmap(-1, NBYTES)
        self.keep = (ctypes.c_char * NBYTES).from_buffer(self.memory)
        self.address = ctypes.c_void_p(ctypes.addressof(self.keep))
        size = ctypes.c_size_t(NBYTES)
        cu.set_current(cu.primary_context(0))
        cu.call("cuMemHostRegister_v2", self.address, size, ctypes.c_uint(PORTABLE))

    def view(self):
        """Give the memory itself."""
        return memoryview(self.memory)

    def copy_to(self, buffer, stream):
        """Enqueue a copy as another library would."""
        to, size = ctypes.c_uint64(buffer.handle), ctypes.c_size_t(NBYTES)
        at = ctypes.c_void_p(stream.handle)
        self.cu.call("cuMemcpyAsync", to, ctypes.c_uint64(self.address.value), size, at)

    def close(self):
        """Take it back from the driver."""
        self.cu.set_current(self.cu.primary_context(0))
        self.cu.call("cuMemHostUnregister", self.address)


class Pinned:
    """Pinned memory of one device, portable to the other."""

    def __init__(self, device):
        self.buffer = Buffer(NBYTES, kind="pinned", device_id=device)
        self.close = self.buffer.close

    def view(self):
        """Give the memory itself."""
        return memoryview(self.buffer)

    def copy_to(self, buffer, stream):
        """Enqueue a copy."""
        self.buffer.copy_to(buffer, stream=stream)
