"""What the manager itself costs: CPU time of `sojourn manage` at windows of 100 ms.

Usage: sudo .venv/bin/python bench/managers/cost.py [--seconds 20] [--rounds 3] [--controller NAME]

It manages two control groups of this script's own with a program each; a window comes every 100 ms.
After a start of 3 s its CPU time (user and system, /proc/PID/stat) is taken over so many seconds.
Printed is the share of one core of each round. Rows are stored in `bench/runs`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from sojourn.manage.testing import stand, until

KEPT = Path(__file__).parents[1] / "runs"
START_S, EVERY_S = 3.0, 0.1
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> int:
    asked = arguments()
    shares = [share(asked.controller, asked.seconds) for _ in range(asked.rounds)]
    print(f"{asked.controller}: {', '.join(f'{one:.2%}' for one in shares)} of a core")
    path = KEPT / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-managers-cost.json"
    about = {"controller": asked.controller, "seconds": asked.seconds, "load": os.getloadavg()[0]}
    path.write_text(json.dumps({**about, "shares": shares}, indent=1))
    print(f"rows: {path.name}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="of a round (20)")
    parser.add_argument("--rounds", type=int, default=3, help="how often (3)")
    parser.add_argument("--controller", default="posterior", help="the rule (posterior)")
    return parser.parse_args()


def share(controller: str, seconds: float) -> float:
    """CPU time of one manager as a share of one core."""
    with tempfile.TemporaryDirectory() as folder, stand(Path(folder)) as here:
        config = here.config(controller, silent_s=60.0)
        env = {**os.environ, "SOJOURN_STATE": f"{folder}/state"}
        words = [sys.executable, "-m", "sojourn", "manage", "--config", str(config)]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, env=env) as manager:
            try:
                if not until(lambda: "start" in [e["event"] for e in here.events()], 60.0):
                    raise RuntimeError("the manager does not start")
                feed(here.window, START_S)
                before = used_s(manager.pid)
                feed(here.window, seconds)
                return (used_s(manager.pid) - before) / seconds
            finally:
                manager.terminate()


def feed(window: Callable[[], None], seconds: float) -> None:
    """A window every 100 ms."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        window()
        time.sleep(EVERY_S)


def used_s(pid: int) -> float:
    """CPU time of a process, s."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


if __name__ == "__main__":
    sys.exit(main())
