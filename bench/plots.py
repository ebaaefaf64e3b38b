# SPDX-License-Identifier: Apache-2.0
"""Draw what a run measured, as SVG that is the same byte by byte for the same run."""

import re

import matplotlib
import report
import rows
import ways

matplotlib.use("svg")
matplotlib.rcParams.update(
    {
        "svg.hashsalt": "hostlaunch",
        "svg.fonttype": "none",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "figure.constrained_layout.use": True,
    }
)
import matplotlib.pyplot as plt  # noqa: E402 (after the backend is chosen)

OURS, OTHERS, C_FUNCTION = "#0a7d54", "#8a93a0", "#222222"
LINES = ("#b5651d", "#7a5195", "#2f6fb0", "#c2405a", "#6b7a1e", "#8a93a0", "#555555")


def colour(name):
    """Ours stand out; the bare driver is dark."""
    if name.startswith(("hostlaunch", "host_launch")):
        return OURS
    return C_FUNCTION if name in (ways.BARE, rows.CPP_BARE) else OTHERS


def measured(found, names):
    """Pick figures by name, those that have values."""
    by_name = {f["name"]: f for f in found if f["samples"]}
    return [by_name[name] for name in names if name in by_name]


def bars(axes, shown, unit, title):
    """Draw a bar for each library, the least at the bottom."""
    shown = sorted(shown, key=lambda f: f["median"], reverse=True)
    names, values = [f["name"] for f in shown], [f["median"] for f in shown]
    drawn = axes.barh(names, values, color=[colour(name) for name in names])
    axes.bar_label(drawn, [rows.number(v) for v in values], padding=3)
    axes.margins(x=0.12)
    axes.set_xlabel(unit)
    axes.set_title(title, loc="left", fontsize=9)


def draw_costs(programs):
    """Cost per callback by library: drain from Python, enqueue from C++."""
    python = report.figures(programs, rows.PYTHON, "drain,")
    cpp = report.figures(programs, rows.CPP, "enqueue")
    sides = []
    if python:
        shown = measured(python, (ways.BARE, ways.OWN, *ways.PEERS))
        sides.append((shown, "ns a callback", "Python callback, drain"))
    if cpp:
        names = (rows.CPP_BARE, "host_launch of a lambda, own stream", rows.BY_HAND, rows.CCCL)
        sides.append((measured(cpp, names), "ns a call", "C++ lambda, enqueue"))
    if not sides:
        return None
    tall = 0.32 * sum(len(side[0]) for side in sides) + 0.9 * len(sides)
    ratios = [len(side[0]) + 1 for side in sides]
    drawing, places = plt.subplots(
        len(sides), 1, figsize=(7, tall), squeeze=False, height_ratios=ratios
    )
    for axes, side in zip(places[:, 0], sides, strict=True):
        bars(axes, *side)
    return drawing


def lines_of(names):
    """Give each library its colour."""
    others = iter(LINES)
    return {
        name: C_FUNCTION if name == ways.BARE else OURS if name == ways.OWN else next(others)
        for name in names
    }


def draw_growth(programs):
    """Drain per callback as more and more is pending."""
    found = report.figures(programs, rows.PYTHON, "drain with")
    curves = {}
    for figure in found:
        if figure["samples"] and figure["name"] != ways.ALONE:
            count = int(re.search(r"\d+", figure["group"])[0])
            curves.setdefault(figure["name"], []).append((count, figure["median"]))
    if not curves:
        return None
    drawing, axes = plt.subplots(figsize=(7, 3.2))
    colours = lines_of(curves)
    for name, points in curves.items():
        axes.plot(*zip(*sorted(points), strict=True), marker=".", color=colours[name], label=name)
    axes.set(xscale="log", yscale="log", xlabel="functions pending", ylabel="ns a callback, drain")
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return drawing


def draw_latency(programs):
    """Distribution of the round trip from Python."""
    found = report.figures(programs, rows.PYTHON, "round trip, all")
    names = (ways.BARE, "C function through ctypes", ways.OWN, *ways.PEERS)
    shown = [f for f in measured(found, names) if f.get("quantiles")]
    if not shown:
        return None
    drawing, axes = plt.subplots(figsize=(7, 3.2))
    colours = lines_of([f["name"] for f in shown])
    for figure in shown:
        quantiles = figure["quantiles"]
        share = [(i + 1) / (len(quantiles) + 1) for i in range(len(quantiles))]
        axes.plot(quantiles, share, color=colours[figure["name"]], label=figure["name"])
    axes.set(xscale="log", xlabel="round trip, us", ylabel="share of trips", ylim=(0, 1))
    axes.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.tick_params(axis="x", which="minor", labelsize=6)
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return drawing


DRAWINGS = (
    ("cost", "Cost per callback by library", draw_costs),
    ("growth", "Drain per callback by the number pending", draw_growth),
    ("latency", "Distribution of the round trip from Python", draw_latency),
)


def draw(section, programs, folder):
    """Draw all plots of one driver's runs: their titles and paths from the page."""
    folder.mkdir(exist_ok=True)
    made = []
    for name, title, make in DRAWINGS:
        drawing = make(programs)
        if drawing is None:
            continue
        path = folder / f"{section}-{name}.svg"
        drawing.savefig(path, metadata={"Date": None})
        plt.close(drawing)
        made.append((title, f"plots/{path.name}"))
    return made
