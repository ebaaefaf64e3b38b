# SPDX-License-Identifier: Apache-2.0
"""Cases that can hang or crash run in an interpreter of their own."""

import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import hostlaunch


@dataclasses.dataclass(frozen=True)
class Result:
    """How a process ended."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def lines(self):
        """The lines it printed."""
        return self.stdout.splitlines()


def _environment(extra):
    environment = dict(os.environ)
    support = str(pathlib.Path(__file__).parent)
    known = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = support if not known else f"{support}{os.pathsep}{known}"
    # The driver that this process found, by name, which is silent.
    environment.setdefault("HOSTLAUNCH_DRIVER", hostlaunch.driver().name)
    for name, value in (extra or {}).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment


def _what_is_left(process):
    # A child of its own that hangs too keeps the pipes open.
    try:
        return process.communicate(timeout=10)
    except subprocess.TimeoutExpired as late:
        return late.output, "a process that it started hangs as well"


def _run(command, environment, timeout):
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # faulthandler prints where every thread is
        try:
            stdout, stderr = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = _what_is_left(process)
        raise AssertionError(
            f"the process hung for {timeout} s\nstdout:\n{stdout}\nstderr:\n{stderr}"
        ) from None
    return Result(process.returncode, stdout, stderr)


def run_python(code, *, env=None, timeout=60.0, returncode=0, stderr="", options=()):
    """Run code in a fresh interpreter and check its exit code and what it wrote to stderr.

    `env` adds to the environment, None removes a variable. `returncode` or `stderr` None: not
    checked. A process that hangs is aborted with all its stacks in the failure.
    """
    if hasattr(sys, "gettotalrefcount") and not options:
        options = ("-W", "ignore::ResourceWarning")  # hidden by default but in debug builds
    command = [sys.executable, "-X", "faulthandler", *options, "-c", textwrap.dedent(code)]
    result = _run(command, _environment(env), timeout)
    told = f"\nstdout:\n{result.stdout}\nstderr:\n{result.stderr}"
    if returncode is not None:
        assert result.returncode == returncode, f"exit code {result.returncode}{told}"
    if stderr is not None:
        assert result.stderr == stderr, f"unexpected stderr{told}"
    return result


def repeats(few):
    """How often to repeat a case: HOSTLAUNCH_TEST_REPEAT multiplies."""
    return few * int(os.environ.get("HOSTLAUNCH_TEST_REPEAT", "1"))
