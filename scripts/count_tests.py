# SPDX-License-Identifier: Apache-2.0
"""Add up JUnit files and end with one line: N passed, M failed[, K skipped].

Arguments come in pairs: a JUnit file and the exit status of the runner that wrote it. A runner
that failed without naming a failed test (it crashed, or ran nothing) counts as one failure.
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def count(path: Path) -> tuple[int, int, int]:
    """Return the test cases of a JUnit file that passed, failed and were skipped."""
    passed = failed = skipped = 0
    for case in ET.parse(path).iter("testcase"):
        children = {child.tag for child in case}
        if children & {"failure", "error"} or case.get("status") == "fail":
            failed += 1
        elif "skipped" in children or case.get("status") in {"notrun", "disabled"}:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main(args: list[str]) -> int:
    """Print the line and return the exit status."""
    total = [0, 0, 0]
    for path, status in zip(args[::2], args[1::2], strict=True):
        try:
            passed, failed, skipped = count(Path(path))
        except (OSError, ET.ParseError) as error:
            # A runner that died may have left its last line open.
            print(f"\nno result of a test run: {error}")
            passed, failed, skipped = 0, 1, 0
        if failed == 0 and (passed == 0 or int(status) != 0):
            print(f"{path}: exit status {status}, {passed} passed, no failure named")
            failed = 1
        total = [a + b for a, b in zip(total, (passed, failed, skipped), strict=True)]
    skips = f", {total[2]} skipped" if total[2] else ""
    print(f"{total[0]} passed, {total[1]} failed{skips}", flush=True)
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
