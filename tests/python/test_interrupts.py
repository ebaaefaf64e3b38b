# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C around the library's waits."""

import pytest

from child import run_python


@pytest.mark.parametrize("then", ["stream.sync()", "wait_until(ended)"])
def test_an_interrupt_during_a_wait_is_raised_by_it_and_cuts_no_finalizer_short(then):
    """contract: L1. What has run is released, whole, by the next wait or without one."""
    result = run_python(
        """
        import os, signal, threading, time
        import hostlaunch

        # Also where the test was started with SIGINT ignored, as in the background of a shell.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ended = []

        def wait_until(happened):
            limit = time.monotonic() + 20
            while not happened and time.monotonic() < limit:
                pass

        started, go = threading.Event(), threading.Event()

        class Payload:
            def __call__(self):
                started.set()
                go.wait(20)

            def __del__(self):
                ended.append(sum(range(1000)))

        def interrupt():
            started.wait(20)
            os.kill(os.getpid(), signal.SIGINT)
            go.set()

        stream = hostlaunch.Stream()
        hostlaunch.host_launch(stream, Payload())
        thread = threading.Thread(target=interrupt)
        try:
            thread.start()
            stream.sync()
            print("lost")
        except KeyboardInterrupt:
            print("raised")
        THEN
        print(ended)
    """.replace("THEN", then)
    )
    assert result.lines == ["raised", "[499500]"]
