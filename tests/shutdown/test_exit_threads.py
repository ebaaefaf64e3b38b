# SPDX-License-Identifier: Apache-2.0
"""Exit while other threads launch, wait and drop objects, at whatever moment it comes."""

import pytest

import exit_states
from child import repeats
from exiting import ANY, run_exit, seed


def disturbed(by, more=""):
    """Make a program whose threads go on until a random moment."""
    return (
        f"{exit_states.HELPERS.format(seed=seed())}{more}\n{exit_states.DISTURBANCES[by]}"
        "time.sleep(rng.random() * 0.04)\n"
    )


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_daemon_threads_may_launch_until_the_end(hostfns, mode):
    """contract: X1, X4. Random moments: no hang, no crash, the exit code kept."""
    threads = f"knobs.set_threads({mode}) if on_embedded else None"
    for number in range(repeats(6)):
        code = disturbed("threads that launch", threads) + f"sys.exit({number % 3})"
        run_exit(code, returncode=number % 3, timeout_setting=2, drops=ANY)


@pytest.mark.parametrize("interval", ["1e-6", "0.005"])
@pytest.mark.parametrize(
    "by", ["threads that launch", "threads that launch on streams of a Python class"]
)
def test_daemon_threads_may_launch_while_the_gil_changes_hands(hostfns, by, interval):
    """contract: X1, S3, G2. The exit may come inside the methods of the stream."""
    for _ in range(repeats(4)):
        code = disturbed(by, f"sys.setswitchinterval({interval})") + "sys.exit(4)"
        run_exit(code, returncode=4, timeout_setting=2, drops=ANY)


def test_fast_functions_run_at_the_very_moment_of_exit():
    """contract: X1."""
    for _ in range(repeats(10)):
        run_exit(f"""
random.seed({seed()})
for _ in range(2000):
    host_launch(stream, int)
end = time.monotonic() + random.random() * 0.003
while time.monotonic() < end:
    pass
""")


def test_functions_end_exactly_when_the_exit_begins(embedded):
    """contract: X1. The gate of the first exit handler lets them all go."""
    for _ in range(repeats(5)):
        run_exit("""
gate = waiting.Gate()
knobs.set_threads(1)
for each in [hostlaunch.Stream(0) for _ in range(6)]:
    host_launch(each, gate)
    for _ in range(20):
        host_launch(each, int)
gate.entered.wait()
atexit.register(gate.open)
""")


@pytest.mark.parametrize(
    ("entry", "call"),
    [
        ("cuLaunchHostFunc", "host_launch(stream, int)"),
        ("cuLaunchHostFunc", "host_launch(stream, compiled.count, user_data=b'x')"),
        ("cuStreamSynchronize", "stream.sync()"),
        ("cuEventQuery", "stream.record().is_done"),
        ("cuStreamDestroy", "hostlaunch.Stream(0).close()"),
        ("cuMemAlloc", "hostlaunch.Buffer(64)"),
    ],
)
def test_a_thread_that_is_inside_the_driver_does_not_hold_the_exit(embedded, hostfns, entry, call):
    """contract: X1."""
    run_exit(
        f"""
ctypes.pythonapi.Py_IncRef(ctypes.py_object(stream))  # its own end would be held as well
holding = knobs.hold({entry!r})
wait_held = holding.__enter__()
threading.Thread(target=lambda: {call}, daemon=True).start()
wait_held()
sys.exit(6)
""",
        returncode=6,
        timeout_setting=0.5,
    )


def test_a_launch_that_is_accepted_during_the_exit_is_dropped(embedded):
    """contract: X1. The thread was in the driver when the exit began."""
    result = run_exit(
        """
holding = knobs.hold("cuLaunchHostFunc")
wait_held = holding.__enter__()
threading.Thread(target=lambda: host_launch(stream, lambda: say("ran")), daemon=True).start()
wait_held()
def late():
    holding.__exit__(None, None, None)
    waiting.wait_until(lambda: hostlaunch.stats().accepted == 1)
    waiting.wait_until(waiting.is_quiet)
    stream.sync()
    say("dropped", hostlaunch.stats().dropped)
late_calls.append(late)
""",
        timeout_setting=0.5,
    )
    assert result.lines == ["dropped 1"]


def test_a_thread_that_waits_for_a_stuck_stream_does_not_hold_the_exit(embedded):
    """contract: X1."""
    run_exit(
        """
knobs.set_manual(1)
host_launch(stream, int)
threading.Thread(target=stream.sync, daemon=True).start()
waiting.wait_until(lambda: knobs.calls("cuStreamSynchronize") == 1)
""",
        timeout_setting=0.1,
        drops=1,
    )


def test_objects_may_die_on_daemon_threads_at_exit():
    """contract: X1, G1."""
    for _ in range(repeats(3)):
        run_exit("""
def churn():
    while True:
        each = hostlaunch.Stream(0)
        each.record()
        hostlaunch.Buffer(64)
        hostlaunch.Buffer(64, kind="pinned")
for _ in range(3):
    threading.Thread(target=churn, daemon=True).start()
time.sleep(0.01)
""")


def test_a_program_of_many_rounds_ends_cleanly(hostfns):
    """contract: X1, section 5. At the end of each exit handler all add up."""
    result = run_exit("""
for _ in range(200):
    host_launch(stream, int)
    host_launch(stream, compiled.count, user_data=b"x")
    host_launch(stream, CUhostFn(lambda pointer: None))
late_calls.append(lambda: say(waiting.adds_up(hostlaunch.stats()), hostlaunch.stats().pending,
                              hostlaunch.stats().running))
""")
    assert result.lines == ["True 0 0"]
