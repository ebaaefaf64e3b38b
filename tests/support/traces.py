# SPDX-License-Identifier: Apache-2.0
"""Reading trace files, and checking that they keep to the format.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

import json

NEEDS = {
    "M": {"pid", "name", "args"},
    "X": {"pid", "tid", "ts", "dur", "name", "cat"},
    "B": {"pid", "tid", "ts", "name", "cat"},
    "E": {"pid", "tid", "ts"},
    "i": {"pid", "tid", "ts", "name", "s"},
    "s": {"pid", "tid", "ts", "name", "cat", "id"},
    "f": {"pid", "tid", "ts", "name", "cat", "id", "bp"},
    "b": {"pid", "tid", "ts", "name", "cat", "id"},
    "e": {"pid", "tid", "ts", "name", "cat", "id"},
}


def load(path):
    """All events of a file; one that was cut off lacks the end, as the format permits."""
    text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        whole, _, rest = text.rpartition("}")
        assert rest.strip() in ("", ","), rest
        return json.loads(whole + "}]")


def check(events):
    """Each event is of a known kind with what it needs, and each arrow has its ends in slices."""
    for event in events:
        kind = event["ph"]
        assert kind in NEEDS, event
        assert NEEDS[kind] <= event.keys(), event
        assert event.get("dur", 0) >= 0, event
        assert isinstance(event.get("ts", 0), int | float)
    check_nesting(events)
    check_arrows(events)
    return events


def check_nesting(events):
    """Begins and ends of slices match on each thread."""
    open_slices = {}
    for event in events:
        track = (event["pid"], event.get("tid"))
        if event["ph"] == "B":
            open_slices.setdefault(track, []).append(event)
        elif event["ph"] == "E":
            begin = open_slices[track].pop()
            assert begin["ts"] <= event["ts"], (begin, event)


def slices(events):
    """All slices of threads as (pid, tid, begin, end, name); an end that is missing is infinite."""
    found, open_slices = [], {}
    for event in events:
        track = (event["pid"], event.get("tid"))
        if event["ph"] == "X":
            found.append((*track, event["ts"], event["ts"] + event["dur"], event["name"]))
        elif event["ph"] == "B":
            open_slices.setdefault(track, []).append(event)
        elif event["ph"] == "E":
            begin = open_slices[track].pop()
            found.append((*track, begin["ts"], event["ts"], begin["name"]))
    for track, begins in open_slices.items():
        found += [(*track, begin["ts"], float("inf"), begin["name"]) for begin in begins]
    return found


def check_arrows(events):
    """An arrow begins in a launch and ends in a run, in this order."""
    where = slices(events)

    def inside(event, slack=0.002):
        return [
            name
            for pid, tid, begin, end, name in where
            if (pid, tid) == (event["pid"], event["tid"])
            and begin - slack <= event["ts"] <= end + slack
        ]

    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    for event in events:
        if event["ph"] == "s":
            assert "host_launch" in inside(event), event
        if event["ph"] == "f" and event["id"] in begins:
            assert begins[event["id"]]["ts"] <= event["ts"]
            assert inside(event), event
