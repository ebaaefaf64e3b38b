# SPDX-License-Identifier: Apache-2.0
"""The exception and warning classes of hostlaunch."""

# What shows the warning about dropped functions. Imported at exit it would change the exit code of
# a program that Ctrl-C has ended: CPython forgets about that where it evaluates more code.
import linecache  # noqa: F401
import tokenize  # noqa: F401


class CUDAError(RuntimeError):
    """A CUDA driver call returned an error.

    The message says what was attempted, which driver call failed and what the driver said.

    Attributes
    ----------
    code : int
        The driver's ``CUresult``, for example 700.
    name : str
        The driver's name of it, for example ``"CUDA_ERROR_ILLEGAL_ADDRESS"``.

    Examples
    --------
    >>> try:
    ...     hostlaunch.Stream(device_id=1000)
    ... except hostlaunch.CUDAError as error:
    ...     print(error.code, error.name)
    101 CUDA_ERROR_INVALID_DEVICE
    """

    code: int
    name: str

    def __init__(self, message: str, code: int = 999, name: str = "CUDA_ERROR_UNKNOWN") -> None:
        super().__init__(message)
        self.code = code
        self.name = name


class EmbeddedDriverWarning(UserWarning):
    """The embedded driver was chosen because no NVIDIA driver or device was found.

    Issued once per process, and only if ``HOSTLAUNCH_DRIVER`` is unset or ``auto``.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", hostlaunch.EmbeddedDriverWarning)
    """


CUDAError.__module__ = EmbeddedDriverWarning.__module__ = "hostlaunch"
