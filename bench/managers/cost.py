"""What the manager itself costs: CPU time of `sojourn manage` at windows of 100 ms.

Usage: sudo .venv/bin/python bench/managers/cost.py [--seconds 20] [--rounds 3] [--controller NAME]
           [--threads 8] [--connections 100] [--against FOLDER]

It manages two control groups of this script's own. The service has threads and connections that do
nothing; a window comes every 100 ms. After a start of 3 s its CPU time (user and system,
/proc/PID/stat) is taken over so many seconds. Printed is the share of one core of each round.
`--against` is the `python` folder of another version: both take turns, and the ratio of each turn
is printed. Rows are stored in `bench/runs`.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import look

import sojourn
from sojourn.manage.testing import Stand, stand, until

KEPT = Path(__file__).parents[1] / "runs"
START_S, EVERY_S = 3.0, 0.1
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> int:
    asked = arguments()
    ours = Path(sojourn.__file__).parents[1]
    codes = {"this": ours, **({"against": asked.against} if asked.against else {})}
    shares: dict[str, list[float]] = {name: [] for name in codes}
    for number in range(asked.rounds):
        for name in [*codes] if number % 2 else [*reversed(codes)]:
            shares[name].append(share(asked, codes[name]))
    for name, each in shares.items():
        print(f"{asked.controller}, {name}: {', '.join(f'{one:.2%}' for one in each)} of a core")
    if asked.against:
        ratios = [a / b for a, b in zip(shares["this"], shares["against"], strict=True)]
        each = ", ".join(f"{one:.2f}" for one in ratios)
        print(f"ratio {statistics.median(ratios):.2f} ({each})")
    path = KEPT / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-managers-cost.json"
    about = {name: value for name, value in vars(asked).items() if name != "against"}
    about |= {"load": os.getloadavg()[0], "kernel": os.uname().release, "cpus": os.cpu_count()}
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
    parser.add_argument("--threads", type=int, default=8, help="of the service (8)")
    parser.add_argument("--connections", type=int, default=100, help="of the service (100)")
    parser.add_argument("--against", type=Path, help="python folder of another version")
    return parser.parse_args()


def share(asked: argparse.Namespace, code: Path) -> float:
    """CPU time of one manager of this code as a share of one core."""
    with tempfile.TemporaryDirectory() as folder, stand(Path(folder)) as here:
        clients = served(here, asked.threads, asked.connections)
        config = here.config(asked.controller, silent_s=60.0)
        env = {**os.environ, "SOJOURN_STATE": f"{folder}/state", "PYTHONPATH": str(code)}
        words = [sys.executable, "-m", "sojourn", "manage", "--config", str(config)]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, env=env) as manager:
            try:
                if not until(lambda: "start" in [e["event"] for e in here.events()], 60.0):
                    raise RuntimeError("the manager does not start")
                feed(here.window, START_S)
                before = used_s(manager.pid)
                feed(here.window, asked.seconds)
                return (used_s(manager.pid) - before) / asked.seconds
            finally:
                manager.terminate()
                for client in clients:
                    client.close()


def served(here: Stand, threads: int, connections: int) -> list[socket.socket]:
    """A server in the group `web`, and its clients."""
    words = [sys.executable, "-c", look.SERVER, str(connections), str(threads)]
    server = here.programs["server"] = subprocess.Popen(words, stdout=subprocess.PIPE)
    for group in here.made:
        if str(group).endswith("-web"):
            (group / "cgroup.procs").write_text(str(server.pid))
    assert server.stdout is not None  # noqa: S101  # a pipe was asked for
    ready, _, _ = select.select([server.stdout], [], [], look.START_S)
    port = int(server.stdout.readline() if ready else "")  # ValueError: it did not start
    return [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]


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
