# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C around the library's waits."""

from child import run_python


def test_an_interrupt_during_a_wait_is_raised_by_it_and_cuts_no_finalizer_short():
    """contract: L1. The finalizer of what has run is released behind the wait, whole."""
    result = run_python("""
        import os, signal, threading
        import hostlaunch

        # Also where the test was started with SIGINT ignored, as in the background of a shell.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ended = []
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
        stream.sync()
        print(ended)
    """)
    assert result.lines == ["raised", "[499500]"]
