# SPDX-License-Identifier: Apache-2.0
"""Runs a program whose CUDA driver is the embedded one: ``python -m hostlaunch.embedded PROGRAM``.

Libraries look for a driver by the name ``libcuda.so.1``. A folder that holds the embedded driver
under this name, first on ``LD_LIBRARY_PATH``, is all that they need. The name is a link to the
driver's own file, so that hostlaunch in the same process uses the same driver.
"""

import argparse
import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

_DRIVER = Path(__file__).resolve().with_name("libhostlaunch_embedded.so")
_NAME = "libcuda.so.1"


def folder() -> Path:
    """Return a folder that holds the embedded driver as ``libcuda.so.1``; make it if need be.

    It is in the user's cache (``XDG_CACHE_HOME``, else ``~/.cache``) and stays there: a program may
    look for its driver at any time.

    Raises
    ------
    OSError
        If the folder cannot be made.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    of_this_driver = hashlib.sha256(os.fsencode(_DRIVER)).hexdigest()[:16]
    place = Path(cache) / "hostlaunch" / "libcuda" / of_this_driver
    link = place / _NAME
    if not link.is_symlink() or link.readlink() != _DRIVER:
        place.mkdir(parents=True, exist_ok=True)
        # Another process may be at it too: a link is made aside and takes its place in one step.
        aside = place / f".{_NAME}.{os.getpid()}"
        aside.unlink(missing_ok=True)
        aside.symlink_to(_DRIVER)
        aside.replace(link)
    return place


def environment() -> dict[str, str]:
    """Return this process's environment, changed so that a program finds the embedded driver."""
    changed = dict(os.environ)
    known = changed.get("LD_LIBRARY_PATH")
    changed["LD_LIBRARY_PATH"] = str(folder()) if not known else f"{folder()}{os.pathsep}{known}"
    changed["HOSTLAUNCH_DRIVER"] = "embedded"
    return changed


def main(arguments: Sequence[str] | None = None) -> int:
    """Become the program that the command line names, with the embedded driver as its CUDA driver.

    A name that ends in ``.py`` is run by this interpreter.
    """
    parser = argparse.ArgumentParser(
        prog="hostlaunch-embedded-run",
        description="Run a program whose CUDA driver is hostlaunch's embedded one.",
    )
    parser.add_argument("--folder", action="store_true", help="print what LD_LIBRARY_PATH needs")
    parser.add_argument("program", nargs="?", help="a command, or a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args(arguments)
    if options.folder:
        print(folder())
        return 0
    if options.program is None:
        parser.error("a program to run is missing")
    command = [options.program, *options.arguments]
    if options.program.endswith(".py"):
        command.insert(0, sys.executable)
    try:
        os.execvpe(command[0], command, environment())
    except OSError as error:
        print(f"hostlaunch-embedded-run: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main())
