# SPDX-License-Identifier: Apache-2.0
"""What a bug report needs to say of this machine and this installation."""

import ctypes
import os
import platform
import sys
import sysconfig
import warnings
from typing import Any

from hostlaunch import _native, _self_test
from hostlaunch._errors import EmbeddedDriverWarning
from hostlaunch._info import driver

# With what counts where nothing is set.
_SETTINGS = {
    "HOSTLAUNCH_BLOCKING_SYNC": "0",
    "HOSTLAUNCH_DRIVER": "auto",
    "HOSTLAUNCH_EMBEDDED_DEVICES": "1",
    "HOSTLAUNCH_EXIT_TIMEOUT": "5",
    "CUDA_DEVICE_MAX_CONNECTIONS": "8",
    "CUDA_VISIBLE_DEVICES": None,
}

# CUdevice_attribute
_MAJOR, _MINOR, _MEM_OPS_64, _WAIT_NOR = 75, 76, 122, 123


def _library() -> dict[str, Any]:
    return {
        "version": _native.__version__,
        "compiler": _native._build(),
        "path": os.path.dirname(os.path.abspath(__file__)),
    }


def _python() -> dict[str, Any]:
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "gil": gil,
        "executable": sys.executable,
    }


def _system() -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "libc": " ".join(platform.libc_ver()),
        "processors": os.cpu_count(),
    }


def _driver() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmbeddedDriverWarning)
        try:
            name, version, path = driver()
        except RuntimeError as error:
            return {"error": str(error)}
    return {
        "name": name,
        "version": version,
        "path": path,
        "fallback_reason": _native._fallback_reason(),
    }


def _device(library: ctypes.CDLL, ordinal: int) -> dict[str, Any]:
    handle = ctypes.c_int()
    name = ctypes.create_string_buffer(256)

    def attribute(number: int) -> int | None:
        value = ctypes.c_int()
        failed = library.cuDeviceGetAttribute(ctypes.byref(value), number, handle)
        return None if failed else value.value

    def flag(number: int) -> bool | None:
        value = attribute(number)
        return None if value is None else bool(value)

    library.cuDeviceGet(ctypes.byref(handle), ordinal)
    library.cuDeviceGetName(name, len(name), handle)
    return {
        "ordinal": ordinal,
        "name": name.value.decode(errors="replace"),
        "compute_capability": f"{attribute(_MAJOR)}.{attribute(_MINOR)}",
        "stream_memory_operations_64_bit": flag(_MEM_OPS_64),
        "stream_wait_value_nor": flag(_WAIT_NOR),
    }


def _devices(path: str) -> list[dict[str, Any]]:
    library = ctypes.CDLL(path)  # loaded by now
    count = ctypes.c_int()
    if library.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    return [_device(library, ordinal) for ordinal in range(count.value)]


def _settings() -> dict[str, dict[str, Any]]:
    found = {name: _native._setting(name) for name in _SETTINGS}
    return {
        name: {"value": _SETTINGS[name] if said is None else said, "set": said is not None}
        for name, said in found.items()
    }


def collect() -> dict[str, Any]:
    """Gather everything, and run the self-test if there is a driver."""
    report: dict[str, Any] = {
        "hostlaunch": _library(),
        "python": _python(),
        "system": _system(),
        "settings": _settings(),
        "driver": _driver(),
        "devices": [],
        "self_test": {},
    }
    if "error" not in report["driver"]:
        report["devices"] = _devices(report["driver"]["path"])
        report["self_test"] = _self_test.run()
    passed = bool(report["self_test"]) and not any(report["self_test"].values())
    report["passed"] = passed
    return report
