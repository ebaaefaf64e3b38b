# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the streams and builders of other libraries."""


class ForeignStream:
    """A stream of another library, as cuda.core, torch, CuPy and numba-cuda present theirs."""

    def __init__(self, handle, version=0):
        self._handle = handle
        self._version = version
        self.asked = 0

    def __cuda_stream__(self):
        """Tell the protocol's version and the handle."""
        self.asked += 1
        return (self._version, self._handle)


class TorchLikeStream(ForeignStream):
    """A stream that names its device as torch does."""

    def __init__(self, handle, device_index):
        super().__init__(handle)
        self.device_index = device_index


class CupyLikeStream(ForeignStream):
    """A stream that names its device as CuPy does."""

    def __init__(self, handle, device_id):
        super().__init__(handle)
        self.device_id = device_id


class CoreLikeStream(ForeignStream):
    """A stream that can be closed, as cuda.core's can."""

    is_closed = False


class FakeBuilder:
    """A graph builder of another library: records what is forwarded to it."""

    def __init__(self, building=True):
        self.building = building
        self.forwarded = []
        self.asked_for_stream = 0

    @property
    def is_building(self):
        """Whether a capture is in progress; an exception instance is raised."""
        if isinstance(self.building, BaseException):
            raise self.building
        return self.building

    def callback(self, fn, *, user_data=None):
        """Record one forwarded call."""
        self.forwarded.append((fn, user_data))

    def __cuda_stream__(self):
        """Builders are streams too."""
        self.asked_for_stream += 1
        return (0, 0)


class Returns:
    """The protocol with a given answer."""

    def __init__(self, answer):
        self.answer = answer

    def __cuda_stream__(self):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer
