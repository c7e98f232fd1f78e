"""50 times: end or stop a manager or a warden at a random moment, with every knob in use.

Usage: sudo unshare --mount --pid --fork --mount-proc .venv/bin/python bench/managers/kills.py
           [--times 50] [--seed 30] [--knobs all] [--most 1] [--rows bench/runs]

Each time a manager gets two control groups of this script's own. A controller moves a knob of them
at each look, ten times a second: all that this machine has, or the quota alone. What is missing is
printed. At a random moment the manager or one of its two wardens is killed (SIGKILL), or it and one
of them, or all three, or one is stopped (SIGSTOP). Whoever is stopped counts as paused after 0.5 s,
and stays stopped. Measured is how long it takes until `batch` has its safe cap: after the deed, or
after these 0.5 s. If all were killed nothing can set a cap. Then the next manager, or `sojourn
restore`, must bring back every file, thread and queue of both groups. Rows are stored in
`bench/runs`; exit code 1 if a cap took more than `--most` seconds, or something differs. The
namespace is there so that `sojourn restore` sees nothing of others.
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
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import moved

from sojourn.manage import testing
from sojourn.manage.testing import Stand, stand, until

KEPT = Path(__file__).parents[1] / "runs"
SAFE, MOST_S, PAUSED_S = 0.05, 1.0, 0.5
BOTH, MANAGER, WARDEN, STOP = "kill both", "kill manager", "kill warden", "stop manager"
STOP_WARDEN, ALL = "stop warden", "kill all three"
DEEDS = (MANAGER, WARDEN, STOP, BOTH, ALL, WARDEN, MANAGER, STOP, BOTH, STOP_WARDEN)
QUIET = subprocess.DEVNULL


@dataclass(frozen=True, slots=True)
class Row:
    """One time.

    Attributes:
        capped_s: after the deed, a pause, or the warden going on; None: never.
        moves: levels that were set before it.
        by: what put everything back.
        differs: settings that are not as before.
    """

    number: int
    deed: str
    after_s: float
    capped_s: float | None
    moves: int
    by: str
    differs: dict[str, list[str | None]]

    def is_slow(self, most_s: float) -> bool:
        """Whether a cap that somebody could set came late, or never."""
        return self.deed != ALL and (self.capped_s is None or self.capped_s > most_s)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--times", type=int, default=50, help="how often (50)")
    parser.add_argument("--seed", type=int, default=30, help="of the moments (30)")
    parser.add_argument("--knobs", choices=("all", "quota"), default="all", help="moved (all)")
    parser.add_argument("--most", type=float, default=MOST_S, help=f"s until a cap ({MOST_S:g})")
    parser.add_argument("--rows", type=Path, default=KEPT, help="folder (bench/runs)")
    asked = parser.parse_args()
    if lack := testing.lack():
        print(f"needs {lack}", file=sys.stderr)
        return 2
    draw, rows = random.Random(asked.seed), []  # noqa: S311
    for number in range(asked.times):
        deed = DEEDS[number % len(DEEDS)]
        row, lacking = once(number, deed, draw.uniform(0.0, 3.0), is_all=asked.knobs == "all")
        rows.append(row)
        print(row, flush=True)
    print(f"not here: {', '.join(lacking) or 'nothing'}")
    slow, changed = (
        [row for row in rows if row.is_slow(asked.most)],
        [row for row in rows if row.differs],
    )
    results = sorted(row.capped_s for row in rows if row.capped_s is not None)
    print(
        f"{len(rows)} times: capped after {results[0]:.3f} to {results[-1]:.3f} s "
        f"(median {results[len(results) // 2]:.3f}), {len(slow)} above {asked.most:g} s; "
        f"{len(changed)} not as before"
    )
    path = asked.rows / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-managers-kills.json"
    table = {"kernel": os.uname().release, "load": os.getloadavg()[0], "cpus": os.cpu_count()}
    table |= {"knobs": asked.knobs, "not_here": lacking, "seed": asked.seed}
    path.write_text(json.dumps({**table, "rows": [asdict(row) for row in rows]}, indent=1))
    print(f"rows: {path.name}")
    return 1 if slow or changed else 0


def once(number: int, deed: str, after_s: float, *, is_all: bool) -> tuple[Row, list[str]]:
    """Start a manager, do the deed after some time, and see what becomes of it."""
    with tempfile.TemporaryDirectory() as folder, stand(Path(folder), work(folder)) as here:
        here.more = f'link = "lo"\ndisk = "{folder}"'
        settle(here)
        before = moved.state(here)
        program, lacking = moved.controller(here, number, is_all=is_all)
        config = here.config(program, silent_s=60.0, paused_s=PAUSED_S)
        env = {**os.environ, "SOJOURN_STATE": f"{folder}/state"}
        words = [sys.executable, "-m", "sojourn", "manage", "--config", str(config)]
        with subprocess.Popen(words, stdout=QUIET, stderr=None, env=env) as manager:
            try:
                if not until(lambda: events(here, "change"), 60.0):
                    raise RuntimeError("the manager does not start")
                time.sleep(after_s)
                moves = len(events(here, "change"))
                capped_s = capped(here, deed, manager)
            finally:
                manager.kill()
        by = put_back(here, config, env, is_next=number % 2 == 1)
        after = moved.state(here)
        keys = {key for key in {*before, *after} if before.get(key) != after.get(key)}
        differs = {key: [before.get(key), after.get(key)] for key in sorted(keys)}
        return Row(number, deed, after_s, capped_s, moves, by, differs), lacking


def work(folder: str) -> str:
    return moved.work(Path(folder))


def events(here: Stand, event: str) -> list[dict[str, object]]:
    return [line for line in here.events() if line["event"] == event]


def settle(here: Stand) -> None:
    """Wait for all tasks of the best-effort group, and for its namespace."""
    procs = here.file("batch", "cgroup.procs")
    if not until(lambda: len(procs.read_text().split()) == moved.TASKS):
        raise RuntimeError("the best-effort work does not start")


def put_back(here: Stand, config: Path, env: dict[str, str], *, is_next: bool) -> str:
    """By the next manager, which then ends in order, or by `sojourn restore`."""
    sojourn = [sys.executable, "-m", "sojourn"]
    if not is_next:
        subprocess.run([*sojourn, "restore"], stdout=QUIET, check=True, env=env, timeout=60)
        return "restore"
    here.audit.unlink()
    words = [*sojourn, "manage", "--config", str(config)]
    with subprocess.Popen(words, stdout=QUIET, stderr=None, env=env) as manager:
        if not until(lambda: events(here, "change"), 60.0):
            manager.kill()
            raise RuntimeError("the next manager does not start")
        manager.terminate()
        if manager.wait(60):
            raise RuntimeError("the next manager ends with an error")
    return "the next manager"


def capped(here: Stand, deed: str, manager: subprocess.Popen[bytes]) -> float | None:
    """Do the deed; how long until the safe cap is there, s; None: it never was."""
    children = Path(f"/proc/{manager.pid}/task/{manager.pid}/children").read_text().split()
    if manager.poll() is not None:
        raise RuntimeError(f"the manager has ended: {here.events()[-1]}")
    first, other = [pid for pid in map(int, children) if b"warden.py" in command(pid)]
    warden = (first, other)[len(events(here, "change")) % 2]
    within_s, began = 10.0, time.monotonic()
    if deed == WARDEN:
        os.kill(warden, signal.SIGKILL)
    elif deed == STOP:
        manager.send_signal(signal.SIGSTOP)
        began += PAUSED_S
    elif deed == STOP_WARDEN:
        os.kill(warden, signal.SIGSTOP)
        began += PAUSED_S
    elif deed in {BOTH, ALL}:
        every = (first, other) if deed == ALL else (warden,)
        for pid in (manager.pid, *every):
            os.kill(pid, signal.SIGSTOP)  # so that none sees another end
        for pid in (*every, manager.pid):
            os.kill(pid, signal.SIGKILL)
        within_s = 0.5 if deed == ALL else within_s
    else:
        manager.kill()
    if not until(lambda: here.quota() == SAFE, within_s):
        return None
    return max(0.0, time.monotonic() - began)


def command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


if __name__ == "__main__":
    sys.exit(main())
