# SPDX-License-Identifier: Apache-2.0
"""Names for what the functions take, for annotations in programs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union

if TYPE_CHECKING:
    from _ctypes import CFuncPtr

    from typing_extensions import Buffer, CapsuleType

    from hostlaunch._native import Stream

    BytesLike: TypeAlias = Buffer
else:
    BytesLike: TypeAlias = Any  # collections.abc.Buffer from Python 3.12 on


class SupportsCudaStream(Protocol):
    """A stream of another library."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """Tell the protocol's version, 0, and the handle."""


class SupportsCallback(Protocol):
    """A graph builder of another library."""

    @property
    def is_building(self) -> bool:
        """Whether it takes callbacks."""

    def callback(self, fn: Any, *, user_data: Any = None) -> Any:
        """Add a host function."""


class SupportsCtypes(Protocol):
    """A function that numba's ``@cfunc`` compiled."""

    @property
    def ctypes(self) -> Any:
        """Its pointer, as ctypes declares it."""


StreamLike: TypeAlias = Union["Stream", SupportsCudaStream]
HostFunction: TypeAlias = Union[Callable[[], object], "CFuncPtr", SupportsCtypes, "CapsuleType"]
