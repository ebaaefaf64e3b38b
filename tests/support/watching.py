# SPDX-License-Identifier: Apache-2.0
"""Programs that stand still on purpose, and what their watchdog writes meanwhile."""

import os
import re
import subprocess
import sys
import textwrap
import threading

import child

PRELUDE = """
import ctypes, os, sys, threading, time
import cudriver, hostlaunch, waiting
from hostlaunch import host_launch
cu = cudriver.handle()
stream = hostlaunch.Stream(0)
"""


class Stuck:
    """A program that runs until it is ended here; what it writes to stderr is collected."""

    def __init__(self, code, env):
        self._process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
            env=child._environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.text = ""
        self._changed = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while got := os.read(self._process.stderr.fileno(), 65536):
            with self._changed:
                self.text += got.decode(errors="replace")
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, pattern, timeout=60.0):
        """Wait until the text matches, or fail with all of it; the match."""

        def found():
            return re.search(pattern, self.text, re.DOTALL) or self._ended

        with self._changed:
            self._changed.wait_for(found, timeout)
        match = re.search(pattern, self.text, re.DOTALL)
        assert match, f"not written within {timeout} s: {pattern}\n{self.text}"
        return match

    def wait_for_exit(self, timeout=60.0):
        """Wait until it has ended by itself; what it printed."""
        code = self._process.wait(timeout)  # it prints less than a pipe holds
        self._reader.join(10)
        assert code == 0, self.text
        return self._process.stdout.read().decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait(10)
        self._reader.join(10)
        self._process.stdout.close()
        self._process.stderr.close()


def stuck(code, *, env=None):
    """Start a program with PRELUDE in front of it."""
    return Stuck(code, env)
