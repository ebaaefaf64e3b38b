#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Print src/embedded/entries/unbuilt.def: what cuda.bindings ask for and the driver has not.

With the newest cuda-bindings installed:
python -m hostlaunch.embedded python scripts/unbuilt_entries.py src/embedded/entry_list.def
"""

import ctypes
import re
import sys

from cuda.bindings import driver

HEAD = """\
// SPDX-License-Identifier: Apache-2.0
// What other libraries ask a driver for by name and this one has not: each of these returns
// NOT_SUPPORTED. Printed by scripts/unbuilt_entries.py.
//
// HL_U(base name)
"""


class Call(ctypes.Structure):
    """A line of the embedded driver's log of calls."""

    _fields_ = (
        ("entry", ctypes.c_char_p),
        ("args", ctypes.c_uint64 * 4),
        ("thread", ctypes.c_uint64),
        ("result", ctypes.c_int),
        ("in_host_function", ctypes.c_int),
    )


def asked_for() -> dict[str, int]:
    """Load cuda.bindings' table and return each name with the oldest version asked for."""
    library = ctypes.CDLL("libcuda.so.1")
    library.hostlaunch_embedded_set_log(1)
    driver.cuDriverGetVersion()
    found: dict[str, int] = {}
    for index in range(library.hostlaunch_embedded_log_size()):
        call = Call()
        library.hostlaunch_embedded_log_get(index, ctypes.byref(call))
        if call.entry.startswith(b"cuGetProcAddress"):
            name = ctypes.string_at(call.args[0]).decode()  # literals of a module that stays
            version = call.args[2]
            found[name] = min(version, found.get(name, version))
    return found


def main(entry_list: str) -> None:
    """Print what is asked for, of a version that the driver has, and not in its list."""
    with open(entry_list) as text:
        built = set(re.findall(r"^HL_E\(\w+, (\w+),", text.read(), re.MULTILINE))
    asked = asked_for()
    _, newest = driver.cuDriverGetVersion()
    print(HEAD, end="")
    for name, version in sorted(asked.items()):
        if name not in built and version <= newest:
            print(f"HL_U({name})")


if __name__ == "__main__":
    main(sys.argv[1])
