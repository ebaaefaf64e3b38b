#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the tables and plots of docs/benchmarks.md: report.py FILE.json...

The files are what hostlaunch_bench and python_launch wrote. What stands between the markers of a
driver is replaced, the rest is written by people. Runs of the embedded driver and of a GPU never
share a table or a plot. Plots of a GPU belong to the page; those of the embedded driver are drawn
elsewhere, to be looked at and thrown away.
"""

import argparse
import pathlib
import re
import statistics
import sys

import paired
import rows
import ways

SECTIONS = {"cuda": "gpu", "embedded": "embedded"}
# Groups of the full tables, by program: the beginning of the name, and the title.
TABLES = {
    rows.CPP: (
        ("enqueue", "C++, enqueue"),
        ("drain", "C++, drain"),
        ("round trip", "C++, round trip"),
        (rows.TIMELINE, "C++, GPU timeline"),
        ("steps of a launch", "Where a launch's nanoseconds go, C++"),
        ("steps of a callback", "Where a callback's nanoseconds go, C++"),
        ("throughput", "C++, several threads"),
        ("memory per", "C++, memory per pending launch"),
        ("growth", "C++, growth"),
        ("our heap", "C++, our allocations"),
    ),
    rows.PYTHON: (
        ("enqueue,", "Python, enqueue"),
        ("drain,", "Python, drain"),
        ("round trip, median", "Python, round trip"),
        ("round trip, 99th", "Python, round trip, 99th percentile of 100"),
        (rows.TIMELINE, "Python, GPU timeline"),
        ("replay", "Python, replay of a graph"),
        ("building", "Python, building a graph"),
        ("main thread busy", "Python, while the main thread is busy"),
        ("loop of the main", "Python, speed of the main thread under 400 callbacks a second"),
        ("throughput", "Python, several threads"),
        ("memory per", "Python, memory per pending launch"),
    ),
}


def table(head, lines):
    """Form a Markdown table."""
    rule = ["---"] * len(head)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *lines)) + "\n"


def conditions(programs):
    """Tell under which conditions the runs were made."""
    told = {}
    for run in programs.values():
        told |= run["conditions"]
    commits = {run["conditions"]["commit"] for run in programs.values()}
    libraries = [f"{name} {told[name]}" for name in ways.DISTRIBUTIONS if name in told]
    parts = [
        f"{told['device']}, driver {told['driver version']}",
        f"{told['processor']}, {told['cores']} cores",
        *(f"Python {told[key]}" for key in ("Python",) if key in told),
        *(told[key] for key in ("compiler",) if key in told),
        f"commit {', '.join(sorted(commits))}",
        told["date"],
        f"{told['rounds']} rounds",
    ]
    text = "; ".join(parts) + ".\n"
    return text + (f"Beside us: {', '.join(libraries)}.\n" if libraries else "")


def promises(programs):
    """Tabulate the rows; with their targets where those count, on a GPU."""
    found = rows.results(programs)
    judged = any(told.verdict for told in found)
    lines = []
    for told in found:
        measured = told.status == "measured"
        cells = [
            told.row.title,
            f"{rows.number(told.ours)} {told.unit}" if measured else told.status,
            rows.number(told.base) if told.base is not None else "",
            rows.compared_text(told),
            rows.peer_text(told),
        ]
        goal = rows.target_text(told).replace("not met", "**not met**")
        lines.append([*cells, goal] if judged else cells)
    head = ["", "ours", "baseline", "compared", "best peer"]
    return table([*head, "target"] if judged else head, lines)


def figure_line(figure, baselines):
    """Form the line of one figure."""
    if not figure["samples"]:
        return [figure["name"], figure["status"], ""]
    name = figure["name"]
    for how in ("difference", "ratio"):
        if how in figure:
            low, high = figure[f"{how}_interval"]
            signed = how == "difference"
            texts = [rows.number(v, signed) for v in (figure[how], low, high)]
            compared = f"{texts[0]} [{texts[1]}, {texts[2]}]"
            return [name, rows.number(figure["median"]), compared]
    shown = f"**{name}**" if name in baselines else name
    return [shown, rows.number(figure["median"]), ""]


def worth_a_line(figure):
    """Leave out what the embedded driver cannot have."""
    return figure["status"] != ways.NEEDS_GPU


def full_tables(programs):
    """Tabulate everything, group by group; groups with one beginning share a table."""
    parts = []
    for program, tables in TABLES.items():
        for group, title in tables:
            found = [f for f in rows.figures(programs, program, group) if worth_a_line(f)]
            if found:
                head = [f"{title}, {found[0]['unit']}", "median", "compared with the baseline"]
                baselines = {figure.get("baseline") for figure in found}
                lines = [figure_line(figure, baselines) for figure in found]
                if len({line[0] for line in lines}) < len(lines):
                    for figure, line in zip(found, lines, strict=True):
                        line[0] = f"{figure['group'].split(' of ')[-1]}: {line[0]}"
                parts.append(table(head, lines))
    return "\n".join(parts)


def added_lines(found, names):
    """Lines of a breakdown: each step's value, and what it adds to the one before."""
    before = None
    for name, what in names:
        figure = next((f for f in found if f["name"] == name and f["samples"]), None)
        if figure is None:
            continue
        added = ""
        if before is not None:
            pairs = zip(figure["samples"], before["samples"], strict=True)
            steps = [a - b for a, b in pairs]
            added = difference_text(statistics.median(steps), *paired.interval(steps))
        yield [what, rows.number(figure["median"]), added]
        before = figure


def beyond_lines(found, names):
    """Lines of a breakdown: each step's value, and its difference to the driver in its turns."""
    for name, what in names:
        figure = next((f for f in found if f["name"] == name and "difference" in f), None)
        if figure is not None:
            beyond = difference_text(figure["difference"], *figure["difference_interval"])
            yield [what, rows.number(figure["median"]), beyond]


def difference_text(middle, low, high):
    """Tell a difference with its interval."""
    return f"{rows.number(middle, True)} [{rows.number(low, True)}, {rows.number(high, True)}]"


LAUNCH_STEPS = (
    (ways.NO_LAUNCH[0], "Python's loop and call"),
    (ways.NO_LAUNCH[1], "let the GIL go and take it again"),
    ("step: + the driver, a C function", "the driver's two calls"),
    ("step: + call the Python callable", "keep the callable alive"),
    (ways.OWN, "all of ours: arguments, record, counters, release"),
)
CALLBACK_STEPS = (
    ("step: + the driver, a C function", "a C function, launched from Python"),
    ("step: + attach a kept thread state", "attach a kept thread state, detach"),
    ("step: + call the Python callable", "and call the Python callable"),
    (ways.OWN, "and all of ours: arguments, record, counters, release"),
)


def breakdown(programs):
    """Tell what the gap between the bare call and ours from Python consists of."""
    beyond = "beyond the driver from C in the same process"
    chains = (
        ("enqueue,", "Launch from Python, ns", "adds", added_lines, LAUNCH_STEPS),
        ("drain,", "Callback in Python, ns", beyond, beyond_lines, CALLBACK_STEPS),
        (
            rows.TIMELINE,
            "Kernel and callback in Python, GPU timeline, us",
            beyond,
            beyond_lines,
            CALLBACK_STEPS,
        ),
        ("round trip, median", "Round trip from Python, us", beyond, beyond_lines, CALLBACK_STEPS),
    )
    parts = []
    for group, title, compared, make, names in chains:
        lines = list(make(rows.figures(programs, rows.PYTHON, group), names))
        if len(lines) > 1:
            parts.append(table([title, "median", compared], lines))
    return "\n".join(parts)


SIDE_BY_SIDE = (
    ("enqueue,", "enqueue, ns"),
    ("drain,", "drain, ns"),
    ("round trip, median", "round trip, us"),
    (rows.TIMELINE, "kernel + function, us"),
    ("replay", "in a graph with a kernel, us"),
    ("main thread busy", "main thread busy, us"),
    ("memory per", "bytes pending"),
)


def side_by_side(programs):
    """Tabulate each library with all that was measured of it; or why it was not."""
    columns = [
        {f["name"]: f for f in rows.figures(programs, rows.PYTHON, group)}
        for group, _ in SIDE_BY_SIDE
    ]
    lines = []
    for name in (ways.BARE, ways.OWN, *ways.PEERS):
        found = [column.get(name) for column in columns]
        said = next((f["status"] for f in found if f and not f["samples"]), "")
        if said == ways.NEEDS_GPU or not any(found):
            continue
        cells = [rows.number(f["median"]) if rows.measured(f) else "" for f in found]
        lines.append([name, *cells] if any(cells) else [name, said, *cells[1:]])
    return table(["Python callbacks", *(title for _, title in SIDE_BY_SIDE)], lines)


def pending_table(programs):
    """Tabulate drain and memory as more and more is pending."""
    found = rows.figures(programs, rows.PYTHON, "drain with")
    groups = list(dict.fromkeys(f["group"] for f in found))
    if not groups:
        return ""
    names = dict.fromkeys(f["name"] for f in found if f["samples"])
    by_place = {(f["group"], f["name"]): f for f in found if f["samples"]}
    lines = [
        [name, *(rows.number(by_place[g, name]["median"]) for g in groups if (g, name) in by_place)]
        for name in names
    ]
    heads = [group.split()[2] for group in groups]
    return table(["Drain, ns a callback, by the number pending", *heads], lines)


def section(driver, programs, plots):
    """Form all that stands between a driver's markers."""
    shown = "\n".join(f"![{title}]({path})\n" for title, path in plots)
    parts = [conditions(programs), promises(programs)]
    if rows.PYTHON in programs:
        parts += [side_by_side(programs), shown, breakdown(programs), pending_table(programs)]
    else:
        parts += [shown]
    full = full_tables(programs)
    head = "<details><summary>All figures: median, and the paired difference to (or ratio of) the "
    head += "baseline, which is in bold</summary>\n"
    parts += [head, full, "</details>\n"]
    return "\n".join(part for part in parts if part)


def replace(text, name, content):
    """Put the content between the markers of that name."""
    begin, end = f"<!-- generated: {name} -->", f"<!-- end of generated: {name} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"the page has no markers {begin} ... {end}")
    return pattern.sub(lambda _: f"{begin}\n\n{content}\n{end}", text)


def main():
    """Rewrite the page and the plots of the drivers that the files are from."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    root = pathlib.Path(__file__).parent.parent
    parser.add_argument("--page", type=pathlib.Path, default=root / "docs" / "benchmarks.md")
    parser.add_argument(
        "--unkept",
        type=pathlib.Path,
        default=root / "build" / "bench" / "plots",
        help="where plots of the embedded driver go",
    )
    parser.add_argument("--no-plots", action="store_true", help="for want of matplotlib")
    settings = parser.parse_args()
    missing = [str(path) for path in settings.files if not path.is_file()]
    if missing:
        raise SystemExit(f"no such file: {', '.join(missing)}")
    text = settings.page.read_text(encoding="utf-8")
    for driver, programs in rows.load(settings.files).items():
        drawn = []
        if not settings.no_plots:
            import plots

            kept = driver == "cuda"
            folder = settings.page.parent / "plots" if kept else settings.unkept
            titles = plots.draw(SECTIONS[driver], programs, folder)
            drawn = titles if kept else []
        text = replace(text, SECTIONS[driver], section(driver, programs, drawn))
    settings.page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
