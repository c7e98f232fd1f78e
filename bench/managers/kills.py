"""50 times: kill or stop the manager, or kill its warden, at a random moment; then restore.

Usage: sudo .venv/bin/python bench/managers/kills.py [--times 50] [--seed 30]

Each time a manager gets two control groups of this script's own, in which a controller moves the
quota of `batch` ten times a second. At a random moment one of the two is killed (SIGKILL), or the
manager is stopped (SIGSTOP; it counts as paused after 0.5 s). Measured is how long it takes until
`batch` has its safe cap. Then `sojourn restore` must bring back every file of both groups. Rows are
kept in `bench/runs`; exit code 1 if a cap took more than 1 s or a file differs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from sojourn.manage import testing
from sojourn.manage.testing import Stand, stand, until

KEPT = Path(__file__).parents[1] / "runs"
SAFE, MOST_S, PAUSED_S = 0.05, 1.0, 0.5
MOVING = """
import json, sys
for i, line in enumerate(sys.stdin):
    level = (0.2, 0.4, 0.6, None)[i % 4]
    change = {"group": "batch", "knob": "quota", "level": level, "reason": "moves"}
    print(json.dumps({"changes": [change]}), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One time. `capped_s`: after the deed; a pause counts from when it is one."""

    number: int
    deed: str
    after_s: float
    capped_s: float | None
    is_as_before: bool


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--times", type=int, default=50, help="how often (50)")
    parser.add_argument("--seed", type=int, default=30, help="of the moments (30)")
    asked = parser.parse_args()
    if lack := testing.lack():
        print(f"needs {lack}", file=sys.stderr)
        return 2
    draw, rows = random.Random(asked.seed), []  # noqa: S311
    for number in range(asked.times):
        deed = ("kill manager", "kill warden", "stop manager")[number % 3]
        rows.append(once(number, deed, draw.uniform(0.0, 1.0)))
        print(rows[-1], flush=True)
    slow = [row for row in rows if row.capped_s is None or row.capped_s > MOST_S]
    changed = [row for row in rows if not row.is_as_before]
    results = sorted(row.capped_s for row in rows if row.capped_s is not None)
    print(
        f"{len(rows)} times: capped after {results[0]:.3f} to {results[-1]:.3f} s "
        f"(median {results[len(results) // 2]:.3f}), {len(slow)} above {MOST_S:g} s; "
        f"{len(changed)} not as before"
    )
    path = KEPT / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-managers-kills.json"
    table = {"kernel": os.uname().release, "load": os.getloadavg()[0]}
    path.write_text(json.dumps({**table, "rows": [asdict(row) for row in rows]}, indent=1))
    print(f"kept in {path.name}")
    return 1 if slow or changed else 0


def once(number: int, deed: str, after_s: float) -> Row:
    """Start a manager, do the deed after some time, and see what becomes of it."""
    with tempfile.TemporaryDirectory() as folder, stand(Path(folder), testing.BURN) as here:
        before = here.snapshot()
        (here.folder / "moving.py").write_text(MOVING)
        program = f"program:{sys.executable} {here.folder / 'moving.py'}"
        config = here.config(program, silent_s=60.0, paused_s=PAUSED_S)
        env = {**os.environ, "SOJOURN_STATE": f"{folder}/state"}
        words = [sys.executable, "-m", "sojourn", "manage", "--config", str(config)]
        quiet = subprocess.DEVNULL
        with subprocess.Popen(words, stdout=quiet, stderr=quiet, env=env) as manager:
            try:
                if not until(lambda: "change" in [e["event"] for e in here.events()]):
                    raise RuntimeError("the manager does not start")
                time.sleep(after_s)
                capped_s = capped(here, deed, manager)
            finally:
                manager.kill()
        done = [sys.executable, "-m", "sojourn", "restore"]
        subprocess.run(done, stdout=quiet, check=True, env=env, timeout=60)
        return Row(number, deed, after_s, capped_s, here.snapshot() == before)


def capped(here: Stand, deed: str, manager: subprocess.Popen[bytes]) -> float | None:
    """Do the deed; how long until the safe cap stays, s; None: it never came."""
    children = Path(f"/proc/{manager.pid}/task/{manager.pid}/children").read_text().split()
    wardens = [pid for pid in map(int, children) if b"warden.py" in command(pid)]
    deeds: dict[str, Callable[[], None]] = {
        "kill manager": manager.kill,
        "kill warden": lambda: os.kill(wardens[0], signal.SIGKILL),
        "stop manager": lambda: manager.send_signal(signal.SIGSTOP),
    }
    began = time.monotonic()
    deeds[deed]()
    if not until(lambda: here.quota() == SAFE, 10.0):
        return None
    took_s = time.monotonic() - began
    return max(0.0, took_s - (PAUSED_S if deed == "stop manager" else 0.0))


def command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


if __name__ == "__main__":
    sys.exit(main())
