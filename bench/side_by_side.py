#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hold two commits side by side: side_by_side.py FOLDER, as scripts/side_by_side.sh leaves it.

FOLDER has base-N-PROGRAM.json and new-N-PROGRAM.json for each lap N: runs in processes of their
own, in turns. What a process measures depends on where its memory lies and on what the machine does
just then, so a lap gives one value, the median of its rounds, and intervals are over laps.
"""

import dataclasses
import pathlib
import statistics
import sys

import paired
import rows

SIDES = ("base", "new")
HEAD = ("row", "base", "base compared", "new", "new compared", "ratio", "verdict")


@dataclasses.dataclass
class Side:
    """What the laps of one commit say of a row: values, and comparisons with the bare driver."""

    values: list[float]
    compared: list[float]

    def judged(self):
        """Give what the verdict is about, a value a lap."""
        return self.compared or self.values


def laps(folder, side):
    """Read the laps of a side: {program: [run, ...]}."""
    runs = {}
    for path in sorted(folder.glob(f"{side}-*.json")):
        for programs in rows.load([path]).values():
            for program, run in programs.items():
                runs.setdefault(program, []).append(run)
    return runs


def side_of(runs, row):
    """Gather a row from the laps that have it; None if none has."""
    told = [rows.result(run, row) for run in runs.get(row.program, ())]
    told = [t for t in told if t is not None and t.status == "measured"]
    if not told:
        return None
    return Side([t.ours for t in told], [t.compared for t in told if t.compared is not None])


def verdict(row, base, new):
    """Tell "inside" where the intervals overlap, else on which side the new one is."""
    (base_low, base_high), (new_low, new_high) = map(paired.interval, (base, new))
    if new_low <= base_high and base_low <= new_high:
        return "inside"
    greater = new_low > base_high
    return "OUTSIDE, better" if greater == (row.how == "ratio") else "OUTSIDE, worse"


def text_of(values, how):
    """Form a median with its interval."""
    signed = how == "difference"
    ends = (statistics.median(values), *paired.interval(values))
    middle, low, high = (rows.number(v, signed) for v in ends)
    return f"{middle} [{low}, {high}]"


def line(row, base, new):
    """Form the cells of a row."""
    cells = [row.title]
    for side in (base, new):
        cells.append(text_of(side.values, "value") if side else "not measured")
        cells.append(text_of(side.compared, row.how) if side and side.compared else "")
    if not base or not new:
        return [*cells, "", ""]
    ratio = statistics.median(new.values) / (statistics.median(base.values) or float("nan"))
    return [*cells, f"{ratio:.3f}", verdict(row, base.judged(), new.judged())]


def table(lines):
    """Form a table that is legible as text and as Markdown."""
    widths = [max(map(len, column)) for column in zip(HEAD, *lines, strict=True)]
    rule = ["-" * width for width in widths]
    for cells in (HEAD, rule, *lines):
        yield "| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)) + " |"


def main():
    """Print the table; 1 if a row is worse, or has no figures on one side alone."""
    folder = pathlib.Path(sys.argv[1])
    base, new = (laps(folder, side) for side in SIDES)
    if not base or not new:
        raise SystemExit(f"no lap of both sides in {folder}")
    told = next(iter(new.values()))[0]["conditions"]
    print(", ".join(told[key] for key in ("device", "driver", "driver version", "processor")))
    count = min(max(map(len, runs.values())) for runs in (base, new))
    print(f"{count} laps; medians [intervals of {'95 %' if count > 5 else 'all'}] over laps")
    sides = [(row, side_of(base, row), side_of(new, row)) for row in rows.ROWS]
    lines = [line(*row) for row in sides if any(row[1:])]
    print(*table(lines), sep="\n")
    return int(any(cells[-1] in ("", "OUTSIDE, worse") for cells in lines))


if __name__ == "__main__":
    sys.exit(main())
