# SPDX-License-Identifier: Apache-2.0
"""The page of benchmarks: what the report makes of runs."""

import graphlib
import importlib.util
import json
import pathlib
import re
import subprocess
import sys

import pytest

REPORT = pathlib.Path(__file__).parents[2] / "bench" / "report.py"
BARE = "capture check + launch, from C"
CPP_BARE = "is_capturing + launch, from C"
PAGE = """# Page

before
<!-- generated: gpu -->
old numbers
<!-- end of generated: gpu -->
between
<!-- generated: embedded -->
<!-- end of generated: embedded -->
after
"""


def figure(group, name, samples, unit="ns a call", status="measured"):
    made = {"group": group, "name": name, "unit": unit, "status": status, "samples": samples}
    if samples:
        made["median"] = sorted(samples)[len(samples) // 2]
        made["interval"] = [min(samples), max(samples)]
    return made


def run(driver, figures):
    told = {
        "driver": driver,
        "driver version": "13000",
        "device": f"a device of {driver}",
        "processor": "a processor",
        "cores": "2",
        "Python": "3.12.3",
        "commit": "abcdef0",
        "date": "2026-01-01T00:00:00Z",
        "rounds": "7",
        "calls a round": "400",
    }
    return {"program": "python_launch", "conditions": told, "figures": figures}


def drain(bare, ours, peer):
    group = "drain"
    return [
        figure(group, BARE, [bare + i for i in range(7)]),
        figure(group, "hostlaunch", [ours + i for i in range(7)]),
        figure(group, "CuPy launch_host_func", [peer + i for i in range(7)]),
        figure(group, "numba-cuda add_callback", [], status="failed: AttributeError: value"),
        figure(group, "cuda.core host_launch", [], status="absent (no such module)"),
    ]


def write(tmp_path, *runs):
    page = tmp_path / "benchmarks.md"
    page.write_text(PAGE)
    files = []
    for number, content in enumerate(runs):
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(json.dumps(content))
    return page, files


def report(page, files, *options):
    command = [sys.executable, REPORT, *files, "--page", page, "--unkept", page.parent / "unkept"]
    command += options
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def section(text, name):
    return text.partition(f"<!-- generated: {name} -->")[2].partition("<!-- end of")[0]


def row(text, title):
    return next(line for line in text.splitlines() if line.startswith(f"| {title} |"))


@pytest.mark.parametrize(
    ("ours", "peer", "verdict"),
    [(1250, 18000, ": met"), (1700, 18000, "**not met**"), (1250, 9000, "**not met**")],
    ids=["met", "too far from the bare call", "not eight times faster"],
)
def test_a_row_tells_ours_the_baseline_the_best_peer_and_the_verdict(tmp_path, ours, peer, verdict):
    """contract: none, the benchmarks' own."""
    page, files = write(tmp_path, run("cuda", drain(1000, ours, peer)))
    assert report(page, files, "--no-plots").returncode == 0
    line = row(section(page.read_text(), "gpu"), "Python callback, drain")
    difference = ours - 1000
    assert f"{ours + 3} ns a call" in line
    assert f"| {1003} | +{difference} [+{difference}, +{difference}] |" in line
    assert f"CuPy launch_host_func: {peer + 3}" in line
    assert verdict in line


def compared(name, median, low, high):
    """A figure of a C++ enqueue whose difference to the bare call is known."""
    made = figure("enqueue", name, [median])
    if low is not None:
        made["baseline"] = CPP_BARE
        made["difference"], made["difference_interval"] = (low + high) / 2, [low, high]
    return made


def enqueue_run(ours, peer):
    figures = [
        compared(CPP_BARE, 800, None, None),
        compared("host_launch of a lambda, own stream", *ours),
        compared("new + trampoline + delete, by hand", *peer),
    ]
    content = run("cuda", figures)
    return {**content, "program": "hostlaunch_bench"}


@pytest.mark.parametrize(
    ("ours", "peer", "expected", "short"),
    [
        ((850, 30, 42), (840, 43, 55), "at most +50: met; first: met", "met"),
        ((840, 30, 44), (850, 36, 55), "at most +50: met; first: level with new +", "level"),
        (
            (840, 40, 44),
            (850, 30, 36),
            "at most +50: met; first: **not met**, behind new",
            "NOT MET",
        ),
        ((840, 60, 64), (850, 80, 86), "at most +50: **not met**; first: met", "NOT MET"),
    ],
    ids=["first though its median is higher", "level", "behind", "first but over the target"],
)
def test_first_is_judged_by_differences_to_the_bare_driver(tmp_path, ours, peer, expected, short):
    """contract: none, the benchmarks' own. Overlapping intervals are a tie, and called that."""
    page, files = write(tmp_path, enqueue_run(ours, peer))
    assert report(page, files, "--no-plots").returncode == 0
    assert expected in row(section(page.read_text(), "gpu"), "C++ enqueue")
    command = [sys.executable, REPORT.with_name("summary.py"), *files]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    line = next(line for line in ran.stdout.splitlines() if "C++ enqueue" in line)
    assert line.startswith(f"  {short:<8}")


@pytest.mark.parametrize(("python", "verdict"), [("3.12.3", False), ("3.13.0", True)])
def test_a_target_for_later_pythons_is_not_held_against_earlier_ones(tmp_path, python, verdict):
    """contract: none, the benchmarks' own."""
    busy = figure("main thread busy in Python", "hostlaunch", [5100], "us a callback")
    content = run("cuda", [busy, *drain(1000, 1250, 18000)])
    content["conditions"]["Python"] = python
    page, files = write(tmp_path, content)
    report(page, files, "--no-plots")
    line = row(section(page.read_text(), "gpu"), "main thread busy, wait per callback")
    assert ("**not met**" in line) == verdict
    assert ("from Python 3.13 on" in line) == (not verdict)


def test_what_people_wrote_stays_and_old_numbers_go(tmp_path):
    """contract: none, the benchmarks' own."""
    page, files = write(tmp_path, run("cuda", drain(1000, 1250, 18000)))
    report(page, files, "--no-plots")
    text = page.read_text()
    assert all(word in text for word in ("before\n", "between\n", "after\n"))
    assert "old numbers" not in text
    once = text
    report(page, files, "--no-plots")
    assert page.read_text() == once


def test_peers_that_fail_or_are_absent_are_told_with_their_reason(tmp_path):
    """contract: none, the benchmarks' own."""
    page, files = write(tmp_path, run("cuda", drain(1000, 1250, 18000)))
    report(page, files, "--no-plots")
    text = page.read_text()
    assert text.count("| numba-cuda add_callback | failed: AttributeError: value |") == 2
    assert "| cuda.core host_launch | absent (no such module) |" in text


def test_drivers_never_share_a_section_and_only_a_gpu_is_judged(tmp_path):
    """contract: none, the benchmarks' own."""
    runs = run("cuda", drain(1000, 1250, 18000)), run("embedded", drain(35, 181, 7000))
    page, files = write(tmp_path, *runs)
    report(page, files, "--no-plots")
    gpu, embedded = (section(page.read_text(), name) for name in ("gpu", "embedded"))
    assert "a device of cuda" in gpu
    assert "a device of embedded" not in gpu
    assert "a device of embedded" in embedded
    assert "1253 ns a call" in row(gpu, "Python callback, drain")
    assert "184 ns a call" in row(embedded, "Python callback, drain")
    assert "met" in gpu
    assert "met" not in embedded


def test_a_page_without_markers_is_refused_and_left_alone(tmp_path):
    """contract: none, the benchmarks' own."""
    page, files = write(tmp_path, run("cuda", drain(1000, 1250, 18000)))
    page.write_text("no markers\n")
    ran = report(page, files, "--no-plots")
    assert ran.returncode != 0
    assert "no markers <!-- generated: gpu -->" in ran.stderr
    assert page.read_text() == "no markers\n"


def test_no_two_programs_of_the_benchmarks_import_each_other():
    """contract: none, the benchmarks' own. A circle works until it is entered elsewhere."""
    paths = REPORT.parent.glob("*.py")
    imports = {
        p.stem: set(re.findall(r"^ *(?:import|from) (\w+)", p.read_text(), re.M)) for p in paths
    }
    ours = {name: needed & imports.keys() for name, needed in imports.items()}
    assert list(graphlib.TopologicalSorter(ours).static_order())


needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="needs matplotlib"
)


@needs_matplotlib
def test_plots_of_the_embedded_driver_are_drawn_but_not_part_of_the_page(tmp_path):
    """contract: none, the benchmarks' own."""
    page, files = write(tmp_path, run("embedded", drain(35, 181, 7000)))
    assert report(page, files).returncode == 0
    assert (tmp_path / "unkept" / "embedded-cost.svg").is_file()
    assert not (tmp_path / "plots").exists()
    assert "![" not in page.read_text()


@needs_matplotlib
def test_plots_are_the_same_for_the_same_run(tmp_path):
    """contract: none, the benchmarks' own."""
    page, files = write(tmp_path, run("cuda", drain(1000, 1250, 18000)))
    report(page, files)
    drawn = tmp_path / "plots" / "gpu-cost.svg"
    once = drawn.read_bytes()
    assert b"18003" in once
    drawn.unlink()
    report(page, files)
    assert drawn.read_bytes() == once
    assert "![Cost per callback by library](plots/gpu-cost.svg)" in page.read_text()


def verdict_of_laps(folder, base, new):
    """Hold the drains of laps against each other; the exit code and the row."""
    for side, laps in (("base", base), ("new", new)):
        for number, ours in enumerate(laps):
            path = folder / f"{side}-{number}-python.json"
            path.write_text(json.dumps(run("cuda", drain(1000, ours, 18000))))
    command = [sys.executable, REPORT.with_name("side_by_side.py"), folder]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return ran.returncode, row(ran.stdout, "Python callback, drain".ljust(22))


@pytest.mark.parametrize(
    ("new", "code", "verdict"),
    [
        ((1240, 1260, 1250), 0, "inside"),
        ((1290, 1310, 1300), 1, "OUTSIDE, worse"),
        ((1100, 1110, 1090), 0, "OUTSIDE, better"),
    ],
    ids=["overlapping", "worse", "better"],
)
def test_two_commits_are_held_against_each_other_by_their_laps(tmp_path, new, code, verdict):
    """contract: none, the benchmarks' own."""
    returned, line = verdict_of_laps(tmp_path, (1230, 1250, 1242), new)
    assert returned == code
    assert "| 1245 [1233, 1253] | +242 [+230, +250] |" in line
    assert f"{(sorted(new)[1] + 3) / 1245:.3f}" in line
    assert line.rstrip(" |").endswith(verdict)
