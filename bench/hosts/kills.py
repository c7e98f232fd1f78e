"""50 random kills, stops and cuts of a study on three hosts; then it resumes.

Usage: sudo python bench/hosts/kills.py [--times 50] [--seed 31]   (needs Ray, root, namespaces)

Head, server and lab are on one host, the two clients on two others, each in a network namespace.
At a random moment of a point one of these happens:

    agent, generator    SIGKILL of a client's agent, or of its generator
    lab                 SIGKILL of `sojourn run`
    worker, head        SIGKILL of all of Ray on a client's host, or of the head's processes
    link                a client's link is down for 20 s
    deaf                for 20 s whatever a client's host sends to the head is dropped
    stopped             all processes of a client's host are stopped for 30 s

Then the lab has to end by itself. Dead nodes are started again, `sojourn restore` and `sojourn
restore --hosts` run, and the same command resumes. A time is good if the lab ended, no process of
it, no journal and no file was left, the point that was hit has no number, and the study completed.
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
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import pyarrow.parquet as pq

from sojourn.hosts import cluster_testing
from sojourn.hosts.cluster_testing import Cluster, Host, generators
from sojourn.plan import Verdict

signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the cluster is ended
RUNS = Path(__file__).parents[1] / "runs"
DEEDS = ("agent", "generator", "lab", "worker", "head", "link", "deaf", "stopped")
HITS = ("agent", "generator", "worker", "link", "stopped")  # the point that runs is lost by them
AWAY_S, STOPPED_S = 20.0, 30.0
ENDS_S_MAX, GONE_S_MAX, TRIES = 300.0, 6.0, 4


@dataclass(slots=True)
class Row:
    """One time.

    Attributes:
        after_s: since both generators ran.
        ended_s: until the lab had ended; None: it did not.
        gone_s: from then until nothing of it ran on any host; None: something did.
        hit: verdict and reason of the point that was hit; "": it has none.
        left: what restore left: journals, files, processes.
        tries: of resuming.
        has_begun: both generators ran within two minutes.
        is_complete: the study is.
    """

    number: int
    deed: str
    after_s: float
    ended_s: float | None = None
    gone_s: float | None = None
    code: int | None = None
    hit: str = ""
    restored: int = 0
    left: tuple[str, ...] = ()
    tries: int = 0
    has_begun: bool = True
    is_complete: bool = False
    faults: tuple[str, ...] = ()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--times", type=int, default=50, help="how often (50)")
    parser.add_argument("--seed", type=int, default=31, help="of the moments (31)")
    parser.add_argument("--deeds", default=",".join(DEEDS), help="which, in turn")
    asked = parser.parse_args()
    if lack := cluster_testing.lack():
        print(f"needs {lack}", file=sys.stderr)
        return 2
    draw = random.Random(asked.seed)  # noqa: S311
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-hosts-kills.json"
    rows: list[Row] = []
    deeds = asked.deeds.split(",")
    with (
        tempfile.TemporaryDirectory(prefix="sjk-") as folder,
        cluster_testing.cluster(Path(folder), 2) as made,
    ):
        for number in range(asked.times):
            row = Row(number, deeds[number % len(deeds)], round(draw.uniform(0.0, 4.0), 2))
            once(row, made, Path(folder), draw)
            row.faults = tuple(faults(row))
            rows.append(row)  # one that did not begin is in the rows, but is no time
            print("bad:" if row.faults else "good", row, flush=True)
            table = {"kernel": os.uname().release, "load": os.getloadavg()[0]}
            path.write_text(json.dumps({**table, "rows": [asdict(one) for one in rows]}, indent=1))
    bad = [row for row in rows if row.faults and row.has_begun]
    none = sum(not row.has_begun for row in rows)
    text = f"{len(rows) - none} times, {len(bad)} with a fault; {none} did not begin"
    print(f"{text}; rows in {path.name}")
    return 1 if bad else 0


def faults(row: Row) -> list[str]:
    """What was not as it has to be."""
    result = []
    if not row.has_begun:
        return ["the study did not begin, so nothing was done to it"]
    if row.ended_s is None:
        result.append("the lab did not end")
    if row.gone_s is None:
        result.append("something ran on")
    if row.left:
        result.append("something was left")
    if row.deed in HITS and row.hit.startswith((Verdict.HOLDS, Verdict.VIOLATED)):
        result.append("the point that was hit has a number")
    if not row.is_complete:
        result.append("the study did not resume")
    return result


def once(row: Row, made: Cluster, folder: Path, draw: random.Random) -> None:
    """Start the study, do the deed, and see what becomes of it."""
    results = folder / f"results{row.number}"
    study = folder / f"study{row.number}.toml"
    text = ", ".join(f'"{host.address}"' for host in made.hosts[1:])
    hosts = f'at = "{made.at}"\nclients = [{text}]\naddress = "{made.head.address}"'
    study.write_text(cluster_testing.TWO_CLIENTS.format(name="killed", hosts=hosts, seconds=4))
    run = ["-m", "sojourn", "run", str(study), "--results", str(results), "--force"]
    words = [*made.head.inside, sys.executable, *run]
    env = {**os.environ, **made.head.variables(), "TMPDIR": str(temp(folder))}
    victim = draw.choice(made.hosts[1:])
    log = folder / f"lab{row.number}.log"
    with log.open("wb") as out, subprocess.Popen(words, env=env, stdout=out, stderr=out) as lab:
        try:
            ready = until(lambda: both_run(made) or lab.poll() is not None, 120.0)
            if ready is None or lab.poll() is not None:
                print(log.read_text()[-2000:], file=sys.stderr)
                row.has_begun = False
            time.sleep(row.after_s)
            hit = points_without_result(results)
            do(row.deed, made, victim, lab)
            row.ended_s = until(lambda: lab.poll() is not None, ENDS_S_MAX)
            row.code = lab.poll()
        finally:
            lab.kill()
    row.gone_s = until(lambda: not running(made), GONE_S_MAX + (row.deed == "stopped") * STOPPED_S)
    row.hit = "; ".join(text for point in hit if (text := verdict(point)))
    again(made, row.deed)
    row.restored = restored(made, row)
    row.left = (*row.left, *left(made, folder))
    while not row.is_complete and row.tries < TRIES:
        row.tries += 1
        with log.open("ab") as out:
            resume(words, env, out)
        row.is_complete = bool(list(results.rglob("complete.json")))
    row.left = (*row.left, *left(made, folder))
    if not row.is_complete:
        print(log.read_text()[-3000:], file=sys.stderr)


def resume(words: list[str], env: dict[str, str], out: IO[bytes]) -> None:
    """Run the same command again; one that does not end is killed, and counts as a try."""
    try:
        subprocess.run(words, env=env, stdout=out, stderr=out, timeout=ENDS_S_MAX, check=False)
    except subprocess.TimeoutExpired:
        out.write(b"it did not end\n")


def temp(folder: Path) -> Path:
    """A folder for the lab's temporary files."""
    made = folder / "tmp"
    made.mkdir(exist_ok=True)
    return made


def until(is_true: Callable[[], bool], length_s: float) -> float | None:
    """How long it took until something was so; None: it was not in time."""
    began_s = time.monotonic()
    while not is_true():
        if time.monotonic() - began_s > length_s:
            return None
        time.sleep(0.05)
    return round(time.monotonic() - began_s, 2)


def both_run(made: Cluster) -> bool:
    """Whether every client has a generator that runs."""
    return all(generators(host.state) for host in made.hosts[1:])


def running(made: Cluster) -> list[int]:
    """Programs of the lab on any host: generators, servers and wardens of theirs."""
    return [pid for host in made.hosts for pid in host.pids("sojourn-")] + [
        pid for host in made.hosts for pid in generators(host.state)
    ]


def points_without_result(results: Path) -> list[Path]:
    """The points that were begun and have no result."""
    every = results.rglob("point.json")
    return [at.parent for at in every if not (at.parent / "outcome.parquet").exists()]


def verdict(point: Path) -> str:
    """Verdict and reason of a point; "": it has none."""
    path = point / "outcome.parquet"
    if not path.exists():
        return ""
    row = pq.read_table(path).to_pylist()[0]
    return f"{row['verdict']}: {str(row.get('reasons') or row.get('reason'))[:160]}"


def do(deed: str, made: Cluster, victim: Host, lab: subprocess.Popen[bytes]) -> None:
    """Do it; what lasts is undone by a timer."""
    kill = signal.SIGKILL
    if deed == "agent":
        send(victim.pids("ray::Agent"), kill)
    elif deed == "generator":
        send(generators(victim.state), kill)
    elif deed == "lab":
        lab.kill()
    elif deed == "worker":
        send(victim.pids("ray"), kill)
    elif deed == "head":
        send([*made.head.pids("gcs_server"), *made.head.pids("raylet/raylet")], kill)
    elif deed == "link":
        victim.link("down")
        threading.Timer(AWAY_S, victim.link, ("up",)).start()
    elif deed == "deaf":
        victim.deaf(made.head.address, is_on=True)
        threading.Timer(AWAY_S, lambda: victim.deaf(made.head.address, is_on=False)).start()
    elif deed == "stopped":
        pids = victim.pids("")
        send(pids, signal.SIGSTOP)
        threading.Timer(STOPPED_S, send, (pids, signal.SIGCONT)).start()


def send(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to all that still are."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def again(made: Cluster, deed: str) -> None:
    """What somebody would do who looks after the cluster: start what is dead."""
    for timer in [one for one in threading.enumerate() if isinstance(one, threading.Timer)]:
        timer.join()
    if deed == "head":
        made.stop()
    made.start()


def restored(made: Cluster, row: Row) -> int:
    """Restore on all hosts; how many things were undone."""
    words = [sys.executable, "-m", "sojourn", "restore", "--json", "--hosts", made.at]
    done = made.run(words, 200.0)
    if done.returncode:
        row.left = (*row.left, f"restore: exit {done.returncode}: {done.stdout}{done.stderr}"[:900])
        return 0
    return len(json.loads(done.stdout))


def left(made: Cluster, folder: Path) -> list[str]:
    """Journals, temporary files and programs that are left."""
    until(lambda: not running(made), GONE_S_MAX)
    journals = [f"journal of {h.address}" for h in made.hosts if list(h.state.glob("*.jsonl"))]
    files = [path.name for path in temp(folder).glob("sojourn-*")]
    return [*journals, *files, *(f"process {pid}" for pid in running(made))]


if __name__ == "__main__":
    sys.exit(main())
