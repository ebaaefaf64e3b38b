# SPDX-License-Identifier: Apache-2.0
"""Interleaved rounds of several subjects, and the statistics of their paired differences.

The same method as paired.hpp: every round measures all subjects once in an order drawn anew, and
each is compared with its baseline by the median of their differences round by round, with an
order-statistic interval that holds the true median with a probability of at least 95 %.
"""

import dataclasses
import json
import math
import random
import statistics


@dataclasses.dataclass
class Figure:
    """One line of a table: values of a subject, and how they compare with the baseline's."""

    group: str
    name: str
    unit: str
    values: list[float]
    baseline: str = ""
    base: list[float] = dataclasses.field(default_factory=list)  # the baseline's, round by round
    compared: list[float] = dataclasses.field(default_factory=list)
    how: str = ""  # "difference" or "ratio"
    quantiles: list[float] = dataclasses.field(default_factory=list)  # of a distribution
    status: str = "measured"  # or "absent", or "failed: ..."


def both(measure_way, measure_bare, draw=random.Random(1)):  # noqa: B008 (one for the process)
    """Measure a way and the bare driver, whichever is drawn to be first."""
    tasks = [("way", measure_way), ("bare", measure_bare)]
    draw.shuffle(tasks)
    return {name: measure() for name, measure in tasks}


def in_rounds(subjects, measure, rounds, warm_up=3):
    """Measure all subjects in each of the rounds, in an order drawn anew.

    The answers of each, by name; those of the warm-up rounds are thrown away.
    """
    draw = random.Random(1)
    order = list(subjects)
    answers = {subject: [] for subject in subjects}
    for number in range(-warm_up, rounds):
        draw.shuffle(order)
        for subject in order:
            answer = measure(subject)
            if number >= 0:
                answers[subject].append(answer)
    return answers


def interval_rank(count):
    """Find the greatest rank k whose k-th smallest and k-th largest values enclose 95 %."""
    below = term = 0.5**count
    rank = 1
    for k in range(1, count // 2):
        term *= (count - k + 1) / k
        below += term
        if below > 0.025:
            break
        rank = k + 1
    return rank


def interval(values):
    """Enclose the median."""
    if not values:
        return math.nan, math.nan
    ordered = sorted(values)
    rank = interval_rank(len(ordered))
    return ordered[rank - 1], ordered[-rank]


class Report:
    """All figures of a run, as a table and as JSON."""

    def __init__(self, program, conditions):
        self.program = program
        self.conditions = conditions
        self.figures = []

    def add(self, group, unit, name, values, base_name="", base=(), how="difference"):
        """Add a figure; with base values of the same rounds it is compared with them."""
        figure = Figure(group, name, unit, list(values))
        if base:
            pairs = zip(figure.values, base, strict=True)
            figure.how, figure.baseline, figure.base = how, base_name, list(base)
            figure.compared = [a / b if how == "ratio" else a - b for a, b in pairs]
        self.figures.append(figure)
        return figure

    def add_missing(self, group, unit, name, status):
        """Say that a peer is absent or failed."""
        self.figures.append(Figure(group, name, unit, [], status=status))

    def print(self):
        """Print the conditions and a table for each group."""
        for name, value in self.conditions.items():
            print(f"{name}: {value}")
        former = None
        for figure in sorted(self.figures, key=self._place):
            if figure.group != former:
                self._print_head(figure)
            former = figure.group
            print(self._line(figure))

    def _place(self, figure):
        return next(i for i, other in enumerate(self.figures) if other.group == figure.group)

    def _print_head(self, figure):
        compared = next((f for f in self.figures if f.group == figure.group and f.how), None)
        how = ""
        if compared is not None:
            what = "the ratio to" if compared.how == "ratio" else "paired difference to"
            how = f'; median, then {what} "{compared.baseline}" with its 95 % interval'
        print(f"\n{figure.group}, {figure.unit}{how}")

    @staticmethod
    def _line(figure):
        if not figure.values:
            return f"  {figure.name:<46} {figure.status}"
        value = statistics.median(figure.values)
        line = f"  {figure.name:<46} {value:10.{2 if abs(value) < 100 else 0}f}"
        if figure.how:
            low, high = interval(figure.compared)
            form = ".3f" if figure.how == "ratio" else "+.1f"
            middle = statistics.median(figure.compared)
            line += f" {format(middle, form):>10}  [{low:{form}}, {high:{form}}]"
        return line

    def write(self, path):
        """Write everything as JSON."""
        figures = []
        for f in self.figures:
            entry = {"group": f.group, "name": f.name, "unit": f.unit, "rounds": len(f.values)}
            if f.values:
                entry["median"] = statistics.median(f.values)
                entry["interval"] = interval(f.values)
            if f.how:
                entry["baseline"] = f.baseline
                entry["baseline_median"] = statistics.median(f.base)
                entry[f.how] = statistics.median(f.compared)
                entry[f"{f.how}_interval"] = interval(f.compared)
            if f.quantiles:
                entry["quantiles"] = [round(v, 3) for v in f.quantiles]
            entry["status"] = f.status
            entry["samples"] = [round(v, 4) for v in f.values]
            entry["baseline_samples"] = [round(v, 4) for v in f.base]
            figures.append(entry)
        content = {"program": self.program, "conditions": self.conditions, "figures": figures}
        with open(path, "w", encoding="utf-8") as out:
            json.dump(content, out, indent=1)
            out.write("\n")
