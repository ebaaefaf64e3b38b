# SPDX-License-Identifier: Apache-2.0
"""Exit with functions that have not started and cannot: dropped and told, never called late."""

import pytest

from child import run_python
from exiting import ENDINGS, run_exit


@pytest.mark.parametrize("ending", ENDINGS)
def test_functions_of_a_stream_that_cannot_move_are_dropped(embedded, ending):
    """contract: X1. Those of a stream that does not move."""
    statement, code = ENDINGS[ending]
    result = run_exit(
        f"""
knobs.set_manual(1)
for _ in range(100):
    host_launch(stream, lambda: say("ran"))
{statement}
""",
        timeout_setting=0.1,
        drops=100,
        returncode=code,
    )
    assert result.stdout == ""


@pytest.mark.parametrize("filter", ["ignore", "error"])
def test_the_warning_is_a_warning_like_others(embedded, filter):
    """contract: X1. It can be hidden; as an error it goes to the hook and keeps the exit code."""
    result = run_exit(
        """
knobs.set_manual(1)
host_launch(stream, lambda: say("ran"))
sys.exit(3)
""",
        options=("-W", f"{filter}::RuntimeWarning"),
        timeout_setting=0.1,
        drops=1 if filter == "error" else 0,
        returncode=3,
        stderr=None,
    )
    assert result.stdout == ""


def test_no_warning_if_nothing_was_dropped(embedded):
    """contract: X1."""
    run_exit("""
for _ in range(100):
    host_launch(stream, int)
stream.sync()
""")


def test_dropped_functions_are_released_on_the_main_thread_while_python_is_whole(embedded):
    """contract: X1, L1."""
    result = run_exit(
        """
class Payload:
    def __call__(self):
        say("ran")
    def __del__(self):
        assert threading.current_thread() is threading.main_thread()
        say("released", len(sys.modules) > 10)
knobs.set_manual(1)
for _ in range(3):
    host_launch(stream, Payload())
late_calls.append(lambda: say("late"))
""",
        timeout_setting=0.1,
        drops=3,
    )
    assert result.lines == ["released True"] * 3 + ["late"]


@pytest.mark.parametrize("data", ["None", "b'payload' * 100", "5"])
def test_pending_compiled_functions_are_left_alone(embedded, hostfns, data):
    """contract: X1. Their payload stays valid, whether they run or not."""
    result = run_exit(
        f"""
knobs.set_manual(1)
for _ in range(100):
    host_launch(stream, compiled.note, user_data={data})
""",
        timeout_setting=0.1,
        drops=100,
    )
    assert result.stdout == ""


@pytest.mark.parametrize("how", ["callable", "thunk"])
def test_functions_let_go_after_the_exit_handler_are_skipped(embedded, how):
    """contract: X1. The driver calls the trampoline, which must not enter Python; sync works."""
    wrap = "CUhostFn" if how == "thunk" else ""
    result = run_exit(
        f"""
knobs.set_manual(1)
for _ in range(50):
    host_launch(stream, {wrap}(lambda *_: say("ran")))
def late():
    knobs.set_manual(0)
    stream.sync()
    say("synced")
late_calls.append(late)
""",
        timeout_setting=0.1,
        drops=50,
    )
    assert result.lines == ["synced"]


def test_compiled_functions_let_go_after_the_exit_handler_still_see_their_data(embedded, hostfns):
    """contract: X1. A C function may still run, and its copy is still valid."""
    result = run_exit(
        """
knobs.set_manual(1)
for number in range(50):
    host_launch(stream, compiled.copy64, user_data=bytes([7]) * 64)
def late():
    knobs.set_manual(0)
    stream.sync()
    say(compiled.counter(), compiled.seen_bytes() == bytes([7]) * 64)
late_calls.append(late)
""",
        timeout_setting=0.1,
        drops=50,
    )
    assert result.lines == ["50 True"]


def test_launches_after_the_exit_handler_are_refused_and_the_rest_works(hostfns):
    """contract: X1."""
    result = run_exit("""
event = stream.record()
def late():
    for fn in (int, compiled.count, CUhostFn(lambda pointer: None)):
        try:
            host_launch(stream, fn)
        except hostlaunch.CUDAError:
            say("wrong type")
        except RuntimeError as error:
            say("refused", "exit" in str(error))
    stream.sync()
    event.sync()
    event.close()
    stream.close()
    say("closed", stream.is_closed, hostlaunch.stats().accepted)
late_calls.append(late)
""")
    assert result.lines == ["refused True"] * 3 + ["closed True 0"]


def test_exit_handlers_registered_later_run_first_and_may_launch():
    """contract: X1."""
    result = run_exit("""
def early():
    for _ in range(10):
        host_launch(stream, lambda: say("ran"))
    stream.sync()
    say("synced")
atexit.register(early)
""")
    assert result.lines == ["ran"] * 10 + ["synced"]


def test_functions_run_while_threads_are_joined():
    """contract: X1. Until then the program has not ended."""
    result = run_exit("""
def work():
    for _ in range(20):
        host_launch(stream, lambda: say("ran"))
        time.sleep(0.005)
    stream.sync()
    say("joined")
threading.Thread(target=work).start()
""")
    assert result.lines == ["ran"] * 20 + ["joined"]


def test_executor_threads_finish_their_work():
    """contract: X1."""
    result = run_exit("""
from concurrent.futures import ThreadPoolExecutor
def work(number):
    host_launch(stream, int)
    stream.sync()
    say("done")
pool = ThreadPoolExecutor(3)
for number in range(12):
    pool.submit(work, number)
""")
    assert result.lines == ["done"] * 12


def test_an_uncaught_exception_keeps_its_exit_code_and_traceback(embedded):
    """contract: X1."""
    result = run_exit(
        """
knobs.set_manual(1)
for _ in range(10):
    host_launch(stream, lambda: say("ran"))
raise LookupError("mine")
""",
        timeout_setting=0.1,
        drops=10,
        returncode=1,
        stderr=None,
    )
    assert result.stdout == ""
    assert result.stderr.startswith("Traceback")
    assert result.stderr.rstrip().endswith("LookupError: mine")


def test_an_immediate_exit_keeps_its_code(embedded):
    """contract: X1."""
    run_exit(
        """
knobs.set_manual(1)
for _ in range(10):
    host_launch(stream, int)
os._exit(3)
""",
        returncode=3,
    )


@pytest.mark.parametrize("filter", ["default", "always", "ignore"])
def test_ctrl_c_ends_the_program_as_always(embedded, filter):
    """contract: X1. With the warning, too: to show it takes more of Python."""
    result = run_exit(
        """
knobs.set_manual(1)
for _ in range(10):
    host_launch(stream, lambda: say("ran"))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
os.kill(os.getpid(), signal.SIGINT)
time.sleep(20)
""",
        options=("-W", f"{filter}::RuntimeWarning"),
        timeout_setting=0.1,
        drops=0 if filter == "ignore" else 10,
        returncode=-2,
        stderr=None,
    )
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1] == "KeyboardInterrupt"


def test_global_objects_die_silently():
    """contract: X1. Streams, events, buffers and cycles of them at module level."""
    run_exit("""
event = stream.record()
buffers = [hostlaunch.Buffer(64), hostlaunch.Buffer(64, kind="pinned")]
view = memoryview(buffers[1])
class Node:
    pass
node = Node()
node.me = node
node.things = [hostlaunch.Stream(0), hostlaunch.Stream(), stream.record()]
def fn():
    return node, event, buffers
for _ in range(20):
    host_launch(stream, fn)
sys.modules["kept"] = hostlaunch.Stream(0)
""")


def test_a_program_that_imports_or_only_asks_ends_silently():
    """contract: X1."""
    run_python("import hostlaunch")
    run_python("import hostlaunch; hostlaunch.driver(); hostlaunch.stats()")
    run_python("import hostlaunch; s = hostlaunch.Stream(); s.close()")


def test_releases_left_at_exit_happen_there(hostfns):
    """contract: X1, L1. The main thread had no chance before: it was blocked in C code."""
    result = run_exit("""
class Payload:
    def __call__(self):
        pass
    def __del__(self):
        say("released", threading.current_thread() is threading.main_thread())
def work():
    compiled.library.hf_fill_pending()
    for _ in range(40):
        host_launch(stream, Payload())
    stream.sync()
compiled.while_main_is_in_c(work)
""")
    assert result.lines == ["released True"] * 40


FAILING_CALL = """
call = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: -1)
add_pending = ctypes.pythonapi.Py_AddPendingCall
add_pending.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
def add_failing_call():
    assert add_pending(ctypes.cast(call, ctypes.c_void_p), None) == 0
"""


def test_a_pending_call_of_others_that_fails_at_exit_harms_nothing(embedded):
    """contract: X1, L1. It comes behind the request for our releases."""
    result = run_exit(
        f"""{FAILING_CALL}
deaths = []
def work():
    for _ in range(20):
        host_launch(stream, Probe(deaths))
    stream.sync()
    add_failing_call()
late_calls.append(lambda: say(len(deaths), set(deaths) == {{threading.get_ident()}}))
threading.Thread(target=work).start()
""",
        returncode=None,
        stderr=None,
    )
    assert result.lines == ["20 True"]
    assert result.returncode >= 0, result
    assert "Fatal" not in result.stderr


def test_a_pending_call_of_others_that_fails_in_front_of_ours_takes_none_along(hostfns):
    """contract: X1, L1. The main thread is in C code until all three calls are queued."""
    result = run_exit(
        f"""{FAILING_CALL}
import weakref
alive = []
def work():
    assert compiled.library.hf_wait_sitting(20000)
    add_failing_call()
    for _ in range(20):
        probe = Probe([])  # its finalizer may be where a call fails
        alive.append(weakref.ref(probe))
        host_launch(stream, probe)
    del probe
    stream.sync()
    add_failing_call()
    compiled.library.hf_let_go()
late_calls.append(lambda: say(len(alive), sum(each() is not None for each in alive)))
atexit.register(compiled.library.hf_sit, 20000)
threading.Thread(target=work, daemon=True).start()
""",
        returncode=None,
        stderr=None,
    )
    assert result.lines == ["20 0"]
    assert result.returncode >= 0, result
    assert "Fatal" not in result.stderr


def test_compiled_functions_that_end_late_are_left_alone(hostfns):
    """contract: X1. One still runs while the process ends."""
    run_exit(
        """
host_launch(stream, compiled.sleep, user_data=200)
for _ in range(10):
    host_launch(stream, compiled.copy64, user_data=bytes(64))
""",
        timeout_setting=0.05,
        drops=11,
    )
