# SPDX-License-Identifier: Apache-2.0
"""The demo as a user runs it: a program with arguments, output, exit codes and Ctrl-C."""

import contextlib
import hashlib
import os
import pty
import random
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PIPELINE = Path(__file__).parents[2] / "examples" / "pipeline.py"
CHUNK = 4096
LONG = 60  # seconds: for what ends by itself
PROMPT = 10  # seconds: for what has to stop when it is told to, on a loaded machine


def command(*arguments):
    return [sys.executable, str(PIPELINE), *map(str, arguments)]


def run(*arguments, **options):
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=LONG, check=False, **options
    )


def make_file(path, nbytes):
    path.write_bytes(random.Random(nbytes).randbytes(nbytes))
    return path


def sha256sum(path):
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path}"


def functions_ran(stdout):
    return int(re.search(r"^(\d+) host functions ran on the \w+ driver", stdout, re.M).group(1))


def assert_one_clear_line(result, *words):
    assert result.returncode == 1, result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("pipeline.py: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert str(word) in result.stderr


@pytest.mark.parametrize("buffers", [1, 2])
@pytest.mark.parametrize(
    "nbytes", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7, 100 * CHUNK + 1]
)
def test_hash_and_output_equal_the_file_whatever_its_size(tmp_path, nbytes, buffers):
    file = make_file(tmp_path / "file", nbytes)
    output = tmp_path / "output"
    result = run(file, "--output", output, "--chunk-size", CHUNK, "--buffers", buffers)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert result.stdout.splitlines()[0] == sha256sum(file)
    assert output.read_bytes() == file.read_bytes()


def test_first_line_is_what_sha256sum_prints(tmp_path):
    if shutil.which("sha256sum") is None:
        pytest.skip("no sha256sum here")
    file = make_file(tmp_path / "a name with blanks", 3 * CHUNK + 1)
    theirs = subprocess.run(["sha256sum", file], capture_output=True, check=True).stdout
    ours = run(file, "--chunk-size", CHUNK).stdout
    assert ours.encode().startswith(theirs)


def test_file_name_need_not_be_valid_text(tmp_path):
    file = tmp_path / os.fsdecode(b"\xff\xfe")
    file.write_bytes(b"abc")
    result = subprocess.run(command(file), capture_output=True, timeout=LONG, check=True)
    assert result.stdout.startswith(b"ba7816bf")
    assert os.fsencode(file) in result.stdout


def test_report_says_throughput_and_how_many_functions_ran_on_which_driver(tmp_path):
    file = make_file(tmp_path / "file", 10 * CHUNK)
    result = run(file, "--chunk-size", CHUNK, "--buffers", 2)
    assert re.search(r"^0\.0 MiB there and back in [\d.]+ s: [\d.]+ MiB/s$", result.stdout, re.M)
    assert re.search(
        r"ran on the (embedded|cuda) driver \(CUDA \d+\.\d, .*/.*\)$", result.stdout, re.M
    )
    # A read and a hash for each chunk, for the empty read at the end, and at most one chunk more
    # that was enqueued before main saw that end.
    assert 2 * 11 <= functions_ran(result.stdout) <= 2 * 12


def test_default_input_is_a_sample_that_is_larger_than_the_buffers_and_removed_afterwards(tmp_path):
    result = run(env=os.environ | {"TMPDIR": str(tmp_path)})
    assert result.returncode == 0, result.stderr
    assert "64.0 MiB there and back" in result.stdout
    assert "known SHA-256 of the sample: OK" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_existing_output_is_replaced(tmp_path):
    file = make_file(tmp_path / "file", 10)
    output = make_file(tmp_path / "output", 1000)
    assert run(file, "--output", output).returncode == 0
    assert output.read_bytes() == file.read_bytes()


def test_missing_file_is_one_clear_line(tmp_path):
    missing = tmp_path / "missing"
    assert_one_clear_line(run(missing), missing, "No such file or directory")


def test_empty_file_name_is_one_clear_line():
    assert_one_clear_line(run(""), "No such file or directory")


def test_directory_is_one_clear_line(tmp_path):
    assert_one_clear_line(run(tmp_path), tmp_path, "not a regular file")


def is_refused(path):
    try:
        with open(path, "rb"):
            return False
    except PermissionError:
        return True
    except OSError:
        return False


def test_unreadable_file_is_one_clear_line(tmp_path):
    file = make_file(tmp_path / "file", 10)
    file.chmod(0)
    # Root may read any file but some of the kernel's, which are only for writing.
    unreadable = next(filter(is_refused, [file, "/sys/bus/cpu/drivers_probe"]), None)
    if unreadable is None:
        pytest.skip("this user may read everything")
    assert_one_clear_line(run(unreadable), unreadable, "Permission denied")


def test_file_that_cannot_be_read_in_the_middle_is_one_clear_line():
    # It opens as a regular file, and reading address 0 of the process's memory fails.
    assert_one_clear_line(run("/proc/self/mem"), "/proc/self/mem", "Input/output error")


@pytest.mark.parametrize("chunks", [1, 50])
def test_full_output_disk_is_one_clear_line(tmp_path, chunks):
    file = make_file(tmp_path / "file", chunks * CHUNK)
    result = run(file, "--output", "/dev/full", "--chunk-size", CHUNK)
    assert_one_clear_line(result, "/dev/full", "No space left on device")


def test_output_that_takes_only_part_of_a_chunk_is_one_clear_line(tmp_path):
    file = make_file(tmp_path / "file", CHUNK)
    output = tmp_path / "output"
    limited = ["sh", "-c", 'ulimit -f 1 && exec "$@"', "sh", *command(file, "--output", output)]
    result = subprocess.run(limited, capture_output=True, text=True, timeout=LONG, check=False)
    assert_one_clear_line(result, output, "File too large")
    assert 0 < output.stat().st_size < CHUNK  # that part was taken


def test_full_disk_behind_stdout_is_one_clear_line(tmp_path):
    file = make_file(tmp_path / "file", 10)
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            command(file), stdout=full, stderr=subprocess.PIPE, text=True, timeout=LONG, check=False
        )
    assert result.returncode == 1
    assert result.stderr == "pipeline.py: [Errno 28] No space left on device\n"


def test_output_in_a_missing_folder_is_one_clear_line(tmp_path):
    file = make_file(tmp_path / "file", 10)
    output = tmp_path / "missing" / "output"
    assert_one_clear_line(run(file, "--output", output), output, "No such file or directory")


def test_output_onto_the_input_is_refused_and_leaves_it_alone(tmp_path):
    file = make_file(tmp_path / "file", 1000)
    before = file.read_bytes()
    link = tmp_path / "link"
    link.symlink_to(file)
    assert_one_clear_line(run(file, "--output", link), link, "is the input file")
    assert file.read_bytes() == before


def test_pipes_are_refused_at_once(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert_one_clear_line(run(fifo), fifo, "not a regular file")
    file = make_file(tmp_path / "file", 10)
    assert_one_clear_line(run(file, "--output", fifo), fifo, "is a pipe")


def test_driver_that_cannot_be_loaded_is_one_clear_line(tmp_path):
    file = make_file(tmp_path / "file", 10)
    missing = tmp_path / "libmissing.so"
    result = run(file, env=os.environ | {"HOSTLAUNCH_DRIVER": str(missing)})
    assert_one_clear_line(result, missing)


@pytest.mark.parametrize(
    "arguments",
    [["--chunk-size", "0"], ["--chunk-size", "x"], ["--buffers", "-1"], ["a", "b"], ["--no"]],
)
def test_wrong_usage_is_exit_code_2(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert "usage: pipeline.py" in result.stderr
    assert "Traceback" not in result.stderr


def test_chunks_stay_in_order_when_each_stream_has_a_thread_of_its_own(tmp_path, embedded):
    one_thread_per_stream = 1
    embedded.set_threads(one_thread_per_stream)
    pipeline = runpy.run_path(str(PIPELINE))
    file = make_file(tmp_path / "file", 2000 * 64 + 1)
    with open(file, "rb", 0) as source, open(tmp_path / "output", "wb", 0) as sink:
        job = pipeline["Pipeline"](source, sink)
        job.run([pipeline["Slot"](64) for _ in range(4)])
    assert (tmp_path / "output").read_bytes() == file.read_bytes()
    assert f"{job.digest.hexdigest()}  {file}" == sha256sum(file)


def test_example_of_the_readme_runs_as_it_stands():
    readme = PIPELINE.parents[1].joinpath("README.md").read_text()
    code = re.search(r"## Fifteen lines of Python\n\n```python\n(.*?)```", readme, re.S).group(1)
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=LONG
    )
    expected = hashlib.sha256(b"\7" * (1 << 20)).hexdigest()
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{expected}\n", "")


@contextlib.contextmanager
def interruptible():
    """Processes started meanwhile take Ctrl-C, even if ours was started to ignore it."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def wait_for(condition):
    deadline = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def endless_file(tmp_path):
    """A file without blocks on the disk that takes longer to hash than any test waits."""
    file = tmp_path / "endless"
    with open(file, "wb") as opened:
        opened.truncate(1 << 40)
    return file


@pytest.mark.parametrize("presses", [1, 3])
@pytest.mark.parametrize("chunk_size", [64, 1 << 20])
def test_ctrl_c_stops_promptly_and_quietly(tmp_path, endless_file, chunk_size, presses):
    output = tmp_path / "output"
    arguments = command(endless_file, "--output", output, "--chunk-size", chunk_size)
    with (
        interruptible(),
        subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        wait_for(lambda: output.exists() and output.stat().st_size > 0)
        for _ in range(presses):
            process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=PROMPT)
    assert (process.returncode, stdout, stderr) == (130, "", "")


def test_ctrl_c_removes_the_sample(tmp_path):
    # One byte at a time, the sample takes longer than any test waits.
    with (
        interruptible(),
        subprocess.Popen(
            command("--chunk-size", 1, "--output", tmp_path / "output"),
            stderr=subprocess.PIPE,
            env=os.environ | {"TMPDIR": str(tmp_path)},
        ) as process,
    ):
        wait_for((tmp_path / "output").exists)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=PROMPT)[1] == b""
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == [tmp_path / "output"]


def read_all(terminal):
    text = b""
    with contextlib.suppress(OSError):  # EIO: the last process has closed its side
        while piece := os.read(terminal, 65536):
            text += piece
    return text.decode()


def run_on_terminal(*arguments):
    """Return exit code, stdout and what a terminal as stderr is sent."""
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            command(*arguments), stdout=subprocess.PIPE, stderr=theirs
        ) as process:
            os.close(theirs)
            shown = read_all(ours)
            stdout = process.communicate(timeout=LONG)[0].decode()
    finally:
        os.close(ours)
    return process.returncode, stdout, shown


def test_terminal_gets_a_progress_bar_that_is_gone_at_the_end(tmp_path):
    file = make_file(tmp_path / "file", 10 * CHUNK)
    code, stdout, shown = run_on_terminal(file, "--chunk-size", CHUNK)
    assert code == 0
    assert stdout.startswith(sha256sum(file))
    percents = [int(percent) for percent in re.findall(r"(\d+)% of 0\.0 MiB", shown)]
    assert percents[0] == 10
    assert percents[-1] == 100
    assert percents == sorted(percents)
    assert shown.endswith("\r\033[K")
    assert functions_ran(stdout) >= 3 * 11


def test_terminal_shows_an_error_on_a_line_of_its_own(tmp_path):
    file = make_file(tmp_path / "file", 10 * CHUNK)
    code, stdout, shown = run_on_terminal(file, "--output", "/dev/full", "--chunk-size", CHUNK)
    assert (code, stdout) == (1, "")
    assert shown.endswith("\r\033[Kpipeline.py: /dev/full: No space left on device\r\n")
