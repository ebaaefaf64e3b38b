# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C around the library's waits."""

import pytest

from child import run_python


@pytest.mark.parametrize("then", ["stream.sync()", "wait_until(lambda: ended)"])
def test_an_interrupt_during_a_wait_is_raised_by_it_and_cuts_no_finalizer_short(then):
    """contract: L1. What has run is released, whole, by the next wait or without one."""
    result = run_python(
        """
        import os, signal, sys, threading, time
        import hostlaunch

        # Also where the test was started with SIGINT ignored, as in the background of a shell.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ended = []
        main = threading.main_thread().ident

        def wait_until(happened):
            limit = time.monotonic() + 20
            while not happened() and time.monotonic() < limit:
                time.sleep(0)

        def wait():
            stream.sync()

        def main_waits():
            # Within this line only the wait itself lets go of the GIL.
            frame = sys._current_frames()[main]
            inside = wait.__code__
            return frame.f_code is inside and frame.f_lineno == inside.co_firstlineno + 1

        class Payload:
            def __call__(self):
                wait_until(main_waits)
                os.kill(os.getpid(), signal.SIGINT)

            def __del__(self):
                ended.append(sum(range(1000)))

        stream = hostlaunch.Stream()
        hostlaunch.host_launch(stream, Payload())
        try:
            wait()
            print("lost")
        except KeyboardInterrupt:
            print("raised")
        THEN
        print(ended)
    """.replace("THEN", then)
    )
    assert result.lines == ["raised", "[499500]"]
