# SPDX-License-Identifier: Apache-2.0
"""What a program may have in hand, what may disturb it, and how it ends: combined at random.

All are pieces of Python that go behind the prelude of `exiting`. None waits for a function: another
piece may hold the driver's thread.
"""

import dataclasses
import random

from exiting import ANY, run_exit

HELPERS = """
rng = random.Random({seed})
started = threading.Event()
lock = threading.Lock()
lock.acquire()
expected = (ValueError, SystemExit, KeyboardInterrupt)

def hook(unraisable):
    if not issubclass(unraisable.exc_type, expected):
        sys.__unraisablehook__(unraisable)

sys.unraisablehook = hook

def refusable(body):
    # Ends when exit has begun, or in a forked child.
    def run():
        try:
            body()
        except RuntimeError as error:
            assert any(word in str(error) for word in ("exit", "fork", "shutdown")), error
    return run

def fail():
    raise ValueError("mine")

def nap():
    started.set()
    time.sleep(rng.random() * 0.02)

def build(*functions):
    builder = hostlaunch.Stream(0).create_graph_builder().begin_building()
    for fn in functions:
        builder.callback(fn)
    return builder.end_building().complete()

def daemon(body):
    threading.Thread(target=refusable(body), daemon=True).start()

class Body(Tombstone):
    def __call__(self):
        return [self]

thunk = CUhostFn(lambda pointer: None)
unrecognised = bare(thunk)
"""

STATES = {
    "all has run": """
for fn in (int, fail, Body([]), thunk, unrecognised):
    host_launch(hostlaunch.Stream(0), fn)
""",
    "many pending": """
for _ in range(300):
    host_launch(stream, rng.choice([int, fail, thunk, Body([])]))
""",
    "a function that naps": "host_launch(hostlaunch.Stream(0), nap)",
    "a function that sleeps for ever": "host_launch(stream, lambda: time.sleep(100))",
    "a function that is busy for ever": """
def busy():
    while True:
        pass
host_launch(hostlaunch.Stream(0), busy)
""",
    "a function that waits for a lock of main": "host_launch(stream, lock.acquire)",
    "a thunk that sleeps for ever": "host_launch(stream, CUhostFn(lambda _: time.sleep(100)))",
    "a function that leaves": "host_launch(stream, lambda: sys.exit(9))",
    "a function that interrupts": """
def interrupt():
    raise KeyboardInterrupt
host_launch(stream, interrupt)
""",
    "unrecognised thunks": """
for _ in range(50):
    host_launch(stream, unrecognised)
""",
    "compiled functions": """
for _ in range(50):
    host_launch(stream, compiled.copy64, user_data=bytes(64))
    host_launch(stream, compiled.note, user_data=7)
""",
    "a compiled function that sleeps": "host_launch(stream, compiled.sleep, user_data=30)",
    "a compiled function that blocks": "host_launch(stream, compiled.block)",
    "a graph in flight": """
graph = build(int, nap, compiled.count, fail)
for _ in range(20):
    graph.launch(stream)
""",
    "a graph that is closed in flight": """
closed_graph = build(nap, Body([]))
closed_graph.launch(stream)
closed_graph.close()
""",
    "a graph that is being built": """
building = hostlaunch.Stream(0).create_graph_builder().begin_building()
building.callback(Body([]))
""",
    "a graph in a cycle": """
cell = []
cell.append(build(lambda cell=cell: cell))
cell[0].launch(stream)
del cell
""",
    "objects": """
event, buffers = stream.record(), [hostlaunch.Buffer(64), hostlaunch.Buffer(64, kind="pinned")]
view = memoryview(buffers[1])
def holds():
    return event, buffers
host_launch(stream, holds)
sys.modules["kept"] = hostlaunch.Buffer(64)
""",
    "a child process": """
import subprocess
subprocess.run(["true"], check=True)
""",
}
ON_EMBEDDED = {
    "pending, never begun": """
knobs.set_manual(1)
for _ in range(50):
    host_launch(stream, rng.choice([int, thunk, Body([])]))
""",
    "a context that has failed": """
for _ in range(50):
    host_launch(stream, Body([]))
knobs.sticky_error(700)
""",
    "a thread for each stream": "knobs.set_threads(1)",
    "a fresh thread for each function": "knobs.set_threads(2)",
}

DISTURBANCES = {
    "none": "",
    "threads that launch": """
def launch_for_ever(fn, **kwargs):
    mine = hostlaunch.Stream(rng.randrange(2) if on_embedded else 0)
    while True:
        for _ in range(rng.randrange(1, 50)):
            host_launch(mine, fn, **kwargs)
        if rng.random() < 0.5:
            mine.sync()
for fn in (int, fail, Body([]), thunk, lambda: time.sleep(0.0005)):
    daemon(lambda fn=fn: launch_for_ever(fn))
daemon(lambda: launch_for_ever(compiled.count, user_data=bytes(200)))
""",
    "threads that launch on streams of a Python class": """
class Foreign:
    # The exit may come inside its methods.
    def __init__(self):
        self.own = hostlaunch.Stream(0)

    def __cuda_stream__(self):
        sum(range(rng.randrange(50)))
        return (0, self.own.handle)

    @property
    def is_closed(self):
        sum(range(rng.randrange(50)))
        return False

def launch_on_foreign():
    mine = Foreign()
    while True:
        host_launch(mine, int)
        if rng.random() < 0.02:
            mine.own.sync()
for _ in range(4):
    daemon(launch_on_foreign)
""",
    "threads that launch graphs": """
def launch_graphs():
    mine = hostlaunch.Stream(0)
    while True:
        graph = build(lambda: [1])
        for _ in range(rng.randrange(1, 10)):
            graph.launch(mine)
        time.sleep(rng.random() * 0.001)
for _ in range(2):
    daemon(launch_graphs)
""",
    "threads that wait": """
daemon(stream.sync)
daemon(lambda: hostlaunch.Stream(0).record().sync())
""",
    "threads that make and drop objects": """
def churn():
    while True:
        each = hostlaunch.Stream(0)
        each.record()
        hostlaunch.Buffer(64)
for _ in range(2):
    daemon(churn)
""",
    "an exit handler that launches": """
atexit.register(refusable(lambda: [host_launch(stream, int) for _ in range(20)]))
""",
    "a late exit handler that launches": """
late_calls.append(refusable(lambda: host_launch(stream, int)))
""",
    "an exit handler that launches from a thread": """
def from_a_thread():
    daemon(lambda: [host_launch(hostlaunch.Stream(0), int) for _ in range(2000)])
atexit.register(refusable(from_a_thread))  # no thread is started at exit from Python 3.12 on
""",
    "a thread that ends in its own time": """
def work():
    for _ in range(20):
        host_launch(stream, int)
        time.sleep(0.0005)
threading.Thread(target=refusable(work)).start()
""",
    "a quick change of threads": "sys.setswitchinterval(1e-6)",
    "a collection at each turn": "gc.set_threshold(5)",
}


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a program ends: what it says, its exit code, and the end of its stderr."""

    code: str
    returncode: int = 0
    stderr: str = ""


FORK = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)

def refused():
    # In the child: no call enters the driver.
    signal.alarm(20)
    try:
        host_launch(stream, int)
    except RuntimeError as error:
        assert "fork" in str(error) or "exit" in str(error), error
    else:
        raise AssertionError("accepted")

def check(pid, code):
    found = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert found == code, f"the child ended with {found}"
"""

ENDINGS = {
    "the end": Ending(""),
    "sys.exit": Ending("sys.exit(7)", 7),
    "an exception": Ending("raise LookupError('mine')", 1, "LookupError: mine"),
    "an exit handler that fails": Ending(
        "@atexit.register\ndef wrong():\n    raise LookupError('mine')\n", 0, "LookupError: mine"
    ),
    "os._exit": Ending("os._exit(6)", 6),
    "an interrupt": Ending(
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "time.sleep(20)",
        -2,
        "KeyboardInterrupt",
    ),
    "a fork whose child exits": Ending(
        FORK + "pid = os.fork()\nif pid == 0:\n    refused()\n    sys.exit(4)\ncheck(pid, 4)"
    ),
    "a fork whose child leaves at once": Ending(
        FORK + "pid = os.fork()\nif pid == 0:\n    refused()\n    os._exit(4)\ncheck(pid, 4)"
    ),
    "a fork on a thread": Ending(
        FORK
        + """
def fork():
    pid = os.fork()
    if pid == 0:
        refused()
        os._exit(4)
    check(pid, 4)
forks = threading.Thread(target=fork)
forks.start()
forks.join()
"""
    ),
    "a fork in C": Ending(
        FORK
        + """
check(compiled.library.hf_fork_and_exit(4), 4)
"""
    ),
    "multiprocessing by fork": Ending(
        FORK
        + """
import multiprocessing
process = multiprocessing.get_context("fork").Process(target=refused)
process.start()
process.join()
assert process.exitcode == 0, process.exitcode
"""
    ),
    "multiprocessing by spawn": Ending(
        """
import multiprocessing
process = multiprocessing.get_context("spawn").Process(target=hostlaunch.Stream, args=(0,))
process.start()
process.join()
assert process.exitcode == 0, process.exitcode
"""
    ),
}


@dataclasses.dataclass(frozen=True)
class Program:
    """One program, as its seed has it."""

    seed: int
    name: str
    code: str
    returncode: int
    stderr: str
    timeout_setting: float


def draw(seed, *, embedded, free_threaded):
    """Combine pieces: the same for the same seed.

    Two things are left out because CPython crashes there by itself (docs/lifetimes.md, "Foreign
    code and daemon threads"): the end before unrecognised thunks, and daemon threads without a GIL.
    """
    rng = random.Random(seed)
    known = {**STATES, **ON_EMBEDDED} if embedded else STATES
    states = rng.sample(sorted(known), rng.randrange(1, 5))
    failed = "a context that has failed"
    states.sort(key=lambda state: state == failed)  # what comes behind it would be refused
    disturbance = rng.choice(sorted(DISTURBANCES))
    if failed in states or (free_threaded and "daemon(" in DISTURBANCES[disturbance]):
        disturbance = "none"
    ending = rng.choice(sorted(ENDINGS))
    code = HELPERS.format(seed=seed) + "".join(known[state] + "\n" for state in states)
    has_time = any("unrecognised" in known[state] for state in states)
    code += DISTURBANCES[disturbance] + f"\ntime.sleep({rng.choice([0, rng.random() * 0.02])})\n"
    return Program(
        seed,
        f"{' + '.join(states)}; {disturbance}; {ending}",
        code + ENDINGS[ending].code,
        ENDINGS[ending].returncode,
        ENDINGS[ending].stderr,
        5 if has_time else rng.choice([0, 0.05, 0.2]),
    )


def run(program):
    """Run it to its end; AssertionError with everything about it if that is not as it should be."""
    try:
        result = run_exit(
            program.code,
            timeout_setting=program.timeout_setting,
            drops=ANY,
            returncode=program.returncode,
            stderr=None,
        )
        others = result.stderr.splitlines()
        if program.stderr:
            assert others[-1:] == [program.stderr], result.stderr
            assert sum(line.startswith("Traceback") for line in others) == 1, result.stderr
        else:
            assert others == [], result.stderr
        assert result.stdout == "", result.stdout
    except AssertionError as error:
        error.add_note(f"seed {program.seed}: {program.name}")
        raise
