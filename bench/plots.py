# SPDX-License-Identifier: Apache-2.0
"""Draw what a run measured, as SVG that is the same byte by byte for the same run."""

import re

import matplotlib
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
    """Draw a bar for each library, the least on top."""
    shown = sorted(shown, key=lambda f: f["median"], reverse=True)
    names, values = [f["name"] for f in shown], [f["median"] for f in shown]
    drawn = axes.barh(names, values, color=[colour(name) for name in names])
    axes.bar_label(drawn, [rows.number(v) for v in values], padding=3)
    finish(axes, unit, title)


def added_bars(axes, shown, unit, title):
    """Draw what each adds to the bare driver, with the interval."""
    shown = sorted((f for f in shown if "difference" in f), key=lambda f: -f["difference"])
    names, values = [f["name"] for f in shown], [f["difference"] for f in shown]
    ends = [f["difference_interval"] for f in shown]
    reach = [[v - low for v, (low, _) in zip(values, ends, strict=True)]]
    reach.append([high - v for v, (_, high) in zip(values, ends, strict=True)])
    axes.barh(names, values, color=[colour(name) for name in names])
    axes.errorbar(values, names, xerr=reach, fmt="none", ecolor="#444444", lw=1, capsize=2)
    for name, value, (_, high) in zip(names, values, ends, strict=True):
        axes.annotate(
            rows.number(value, True), (high, name), (4, 0), textcoords="offset points", va="center"
        )
    finish(axes, unit, title)


def finish(axes, unit, title):
    """Label a drawing of bars."""
    axes.margins(x=0.12)
    axes.set_xlabel(f"{unit} (less is better)")
    head(axes, title)


def head(axes, title):
    """Write the title over a drawing."""
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")


def name_lines(axes, title):
    """Write the title of a drawing of lines, and what each line is beside it."""
    head(axes, title)
    axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))


CPP_NAMES = ("host_launch of a lambda, own stream", rows.BY_HAND, rows.BY_HAND_CHECKED, rows.CCCL)


def draw_costs(programs):
    """Cost per callback by library: drain from Python, enqueue from Python and C++."""
    ours = (ways.OWN, "hostlaunch, foreign stream")
    drained = measured(
        rows.figures(programs, rows.PYTHON, "drain,"), (ways.BARE, ways.OWN, *ways.PEERS)
    )
    python = measured(
        rows.figures(programs, rows.PYTHON, "enqueue,"), (*ours, *ways.LAUNCHING_PEERS)
    )
    cpp = measured(rows.figures(programs, rows.CPP, "enqueue"), CPP_NAMES)
    sides = [
        (bars, drained, "ns a callback", "Python callback: time on the driver's thread"),
        (added_bars, python, "ns a call", "Launching it from Python: added to the bare call"),
        (added_bars, cpp, "ns a call", "Launching a C++ lambda: added to the bare call"),
    ]
    sides = [side for side in sides if any(side[0] is bars or "difference" in f for f in side[1])]
    if not sides:
        return None
    tall = 0.3 * sum(len(side[1]) for side in sides) + 0.9 * len(sides)
    ratios = [len(side[1]) + 1 for side in sides]
    drawing, places = plt.subplots(
        len(sides), 1, figsize=(7.5, tall), squeeze=False, height_ratios=ratios
    )
    for axes, (draw_side, *side) in zip(places[:, 0], sides, strict=True):
        draw_side(axes, *side)
    return drawing


def lines_of(names):
    """Give each library its colour."""
    others = iter(LINES)
    return {
        name: C_FUNCTION if name == ways.BARE else OURS if name == ways.OWN else next(others)
        for name in names
    }


def thickness(name):
    """Ours stand out."""
    return 2.5 if name == ways.OWN else 1.5


def draw_growth(programs):
    """Drain per callback as more and more is pending."""
    found = rows.figures(programs, rows.PYTHON, "drain with")
    curves = {}
    for figure in found:
        if figure["samples"] and figure["name"] != ways.ALONE:
            count = int(re.search(r"\d+", figure["group"])[0])
            curves.setdefault(figure["name"], []).append((count, figure["median"] / 1000))
    if not curves:
        return None
    drawing, axes = plt.subplots(figsize=(7.5, 3.2))
    colours = lines_of(curves)
    for name, points in curves.items():
        axes.plot(
            *zip(*sorted(points), strict=True),
            marker=".",
            color=colours[name],
            label=name,
            lw=thickness(name),
        )
    axes.set(xscale="log", ylim=(0, None), xlabel="functions pending", ylabel="us a callback")
    axes.set_xticks(sorted({count for points in curves.values() for count, _ in points}))
    axes.xaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    name_lines(
        axes, "Python callback on the driver's thread, by the number pending (less is better)"
    )
    return drawing


def draw_latency(programs):
    """Distribution of the round trip from Python."""
    found = rows.figures(programs, rows.PYTHON, "round trip, all")
    names = (ways.BARE, "C function through ctypes", ways.OWN, *ways.PEERS)
    shown = [f for f in measured(found, names) if f.get("quantiles")]
    if not shown:
        return None
    drawing, axes = plt.subplots(figsize=(7.5, 3.2))
    colours = lines_of([f["name"] for f in shown])
    for figure in shown:
        quantiles = figure["quantiles"]
        share = [(i + 1) / (len(quantiles) + 1) for i in range(len(quantiles))]
        axes.plot(
            quantiles,
            share,
            color=colours[figure["name"]],
            label=figure["name"],
            lw=thickness(figure["name"]),
        )
    shortest = min(figure["quantiles"][0] for figure in shown)
    longest = max(figure["quantiles"][int(0.95 * len(figure["quantiles"]))] for figure in shown)
    axes.set(xlabel="us", ylabel="share of trips done by then", ylim=(0, 1))
    axes.set_xlim(0.9 * shortest, 1.05 * longest)
    name_lines(axes, "Launch from Python and wait (further left is better)")
    return drawing


DRAWINGS = (
    ("cost", "Cost per callback by library", draw_costs),
    ("growth", "Drain per callback by the number pending", draw_growth),
    ("latency", "Distribution of the round trip from Python", draw_latency),
)


def draw(section, programs, folder):
    """Draw all plots of one driver's runs: their titles and paths from the page."""
    folder.mkdir(parents=True, exist_ok=True)
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
