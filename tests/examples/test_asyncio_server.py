# SPDX-License-Identifier: Apache-2.0
"""The server in asyncio, run as a user runs it."""

import pathlib
import re
import subprocess
import sys

SERVER = pathlib.Path(__file__).parents[2] / "examples" / "asyncio_server.py"


def test_all_requests_are_answered_and_every_slot_comes_back():
    """contract: P3, P8. Clients that hang up included; the program checks each answer."""
    command = [sys.executable, "-X", "faulthandler", str(SERVER), "--requests", "400"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^400 requests in", done.stdout, re.MULTILINE)
    served = re.search(r"served (\d+), cancelled \d+, all 8 slots free", done.stdout)
    assert int(served[1]) >= 400
    assert "Traceback" not in done.stderr
