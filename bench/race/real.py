"""The race on real servers: the rules drive memcached or NGINX through the generator.

    .venv/bin/python bench/race/real.py --server memcached --border-minutes 4 --searches 1

The border is the load at which 1 % of Poisson requests miss the bound. A coarse bisection finds
where it lies. Then loads around it run in random order, round by round, for `--border-minutes` by
the clock. They are spread over the race: some run before each search and after the last, so the
border is that of the time of the searches. It is where the pooled share of misses, made monotone,
crosses 1 %. Its interval (90 %) comes from a bootstrap over rounds. The borders of both halves
show how far the machine drifted. Ctrl-C or SIGTERM ends the race with what is measured. With
`--out` of such a folder it goes on: the rules that it lacks, and `--border-minutes` more.

Each rule of `rules.py` searches the same running server. The clients of `world.py` are kinds
of `sojourn-load` here: even or random distances, a ramp, a closed loop, and the clock from the due
time or from the send. Ours is `sojourn try`, as people type it. One worker on one CPU, the client
on the other. Rows, table and every border run go to the folder OUT.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

HERE, BENCH = Path(__file__).parent, Path(__file__).parents[1]
sys.path[:0] = [str(HERE), str(BENCH / "search"), str(BENCH)]  # ours first: names are common
import duckdb  # noqa: E402
import mlr  # noqa: E402
import table  # noqa: E402
from border import Border, Probe, fitted  # noqa: E402
from gathered import Race  # noqa: E402
from rules import RULES  # noqa: E402
from run import MLR, Row, driven  # noqa: E402
from servers import started  # noqa: E402
from table import OURS  # noqa: E402
from world import Ask, Client, Reading  # noqa: E402

from sojourn import programs  # noqa: E402

SERVER_CPU, CLIENT_CPU = 0, 1
#: Protocol, scheme, path, and the load from which the bisection begins.
SERVERS = {"memcached": ("memcache", "memcache", "", 4000), "nginx": ("http", "http", "/4k", 2000)}
CONNECTIONS = 64
COARSE_S, PROBE_S = 3, 4
SPREAD = (0.8, 0.88, 0.94, 1.0, 1.06, 1.12, 1.2)  # loads of the long run, over the coarse border
RAW_MAX = 20_000_000
LOADS = ("load", "lo", "hi")  # columns of a row, in requests/s until the border is known


@dataclass(slots=True)
class RealWorld:
    """A server that runs, as `world.World` is for queues: `measure` gives a rule its reading."""

    url: str
    bound_s: float
    spent_s: float = 0.0
    trials: int = 0
    seed: int = 1
    verdicts: list[str] = field(default_factory=list)

    def measure(self, ask: Ask) -> Reading:
        """What the generator saw of a trial."""
        self.spent_s += ask.seconds
        self.trials += 1
        self.seed += 1
        intended, sent, done, result = offered(self.url, words_of(ask), ask.seconds, self.seed)
        self.verdicts.append(str(result["verdict"]))
        is_from_send = ask.client in {Client.LIMITED, Client.CLOSED}
        if is_from_send:  # a request that never left is in no such tool's numbers
            is_sent = np.isfinite(sent) & (sent <= ask.seconds)
            intended, sent, done = intended[is_sent], sent[is_sent], done[is_sent]
        latencies = done - (sent if is_from_send else intended)
        return Reading(
            latencies=latencies,
            ended=done,
            achieved_rps=float(result["achieved_rps"]),  # those that were excluded came, too
            bound_s=self.bound_s,
        )


def words_of(ask: Ask) -> list[str]:
    """Options of `sojourn-load` for a kind of client."""
    if ask.client is Client.CLOSED:
        return ["--find-max", "--connections", str(int(ask.load))]
    arrivals = "poisson" if ask.client is Client.POISSON else "fixed"
    rate = f"ramp:1..{ask.load:.0f}" if ask.client is Client.RAMP else f"{ask.load:.3f}"
    connections = ask.connections if ask.client is Client.LIMITED else CONNECTIONS
    return ["--rate", rate, "--arrivals", arrivals, "--connections", str(connections)]


def offered(
    url: str, words: Sequence[str], seconds: float, seed: int
) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Due, sent and done times, s from the begin, `inf` where that never was; and the result."""
    with tempfile.TemporaryDirectory() as name:
        raw, out = Path(name) / "raw.parquet", Path(name) / "load.json"
        fixed = f"--duration {seconds}s --warmup 0.5s --timeout 30s --drain 2s --seed {seed}"
        kept = f"--cpus {CLIENT_CPU} --raw-max {RAW_MAX} --raw {raw} --json {out}"
        made = [str(programs.find("sojourn-load")), url, *fixed.split(), *kept.split(), *words]
        done = subprocess.run(made, capture_output=True, text=True, check=False)
        if not raw.exists():
            raise RuntimeError(done.stderr)
        query = f"select intended_ns, sent_ns, done_ns from '{raw}' where not excluded"  # noqa: S608
        rows = duckdb.sql(query).fetchnumpy()
        result = json.loads(out.read_text())

    def seconds_of(name: str) -> Any:
        return np.ma.filled(rows[name].astype(np.float64), np.inf) / 1e9

    return seconds_of("intended_ns"), seconds_of("sent_ns"), seconds_of("done_ns"), result


def probe(world: RealWorld, rate: float, seconds: float, number: int) -> Probe:
    """One run for the border."""
    seen = world.measure(Ask(client=Client.POISSON, load=rate, seconds=seconds))
    return Probe(number, rate, len(seen.latencies), seen.over, world.verdicts[-1])


def coarse(world: RealWorld, first: float) -> float:
    """Twice as much until it misses, then six bisections."""
    good, bad = first / 2, first
    while probe(world, bad, COARSE_S, 0).share <= 0.01 and bad < 2e6:
        good, bad = bad, 2 * bad
    for _ in range(6):
        middle = (good * bad) ** 0.5
        is_good = probe(world, middle, COARSE_S, 0).share <= 0.01
        good, bad = (middle, bad) if is_good else (good, middle)
    return float((good * bad) ** 0.5)


def probes(
    world: RealWorld, near: float, end_s: float, rng: np.random.Generator, number: int
) -> list[Probe]:
    """Rounds of loads around a coarse border, in random order, until a time of `monotonic`."""
    gathered: list[Probe] = []
    while time.monotonic() < end_s or not gathered:
        number += 1
        order = rng.permutation(SPREAD)
        gathered += [probe(world, near * float(one), PROBE_S, number) for one in order]
    return gathered


def ours(world: RealWorld) -> Row:
    """`sojourn try` on the same server."""
    began_s = time.monotonic()
    made = [sys.executable, "-m", "sojourn", "try", world.url, "--bound", f"{world.bound_s}s"]
    made += ["--connections", str(CONNECTIONS), "--json", "--quiet", "--force"]
    made += ["--preload"] if world.url.startswith("memcache") else []
    done = subprocess.run(made, capture_output=True, text=True, check=False)
    spent_s = time.monotonic() - began_s
    nan = float("nan")
    load, lo, hi = nan, nan, nan
    try:
        (service,) = json.loads(done.stdout)["services"]
        found = service["max_load"]["border"]
        load = float(found["estimate_rps"])
        lo, hi = (float(found["interval_rps"][key]) for key in ("lo", "hi"))
    except (ValueError, KeyError, TypeError) as error:
        print(f"sojourn try gave no number ({error!r}): {done.stdout[-300:]}{done.stderr[-300:]}")
    return Row(
        rule=OURS, queue="", seed=0, load=load, lo=lo, hi=hi, seconds=spent_s, trials=1, cpu_s=nan
    )


def searched(name: str, world: RealWorld) -> Row:
    """One search by a rule, its answer in requests/s."""
    if name == OURS:
        return ours(world)
    before_s, before = world.spent_s, world.trials
    answer = mlr.search(world) if name == MLR else driven(name, world)  # type: ignore[arg-type]

    def number(rps: float | None) -> float:
        return float("nan") if rps is None else rps

    spent_s = world.spent_s - before_s if answer.spent_s is None else answer.spent_s
    return Row(
        rule=name, queue="", seed=0, load=number(answer.load_rps), lo=number(answer.lo_rps),
        hi=number(answer.hi_rps), seconds=spent_s, trials=world.trials - before, cpu_s=float("nan"),
    )  # fmt: skip


def report(border: Border, halves: Sequence[Border], asked: argparse.Namespace) -> str:
    """The border and the machine's drift, in words."""
    first, second = halves
    return (
        f"{asked.server}: 1 % of requests miss {asked.bound_ms:g} ms at {border.rps:,.0f}/s "
        f"({border.lo_rps:,.0f} to {border.hi_rps:,.0f}); {border.probes} runs, "
        f"{border.requests:,} requests, {border.probes * PROBE_S / 60:.0f} minutes of load\n"
        f"first half {first.rps:,.0f}/s ({first.lo_rps:,.0f} to {first.hi_rps:,.0f}), "
        f"second half {second.rps:,.0f}/s ({second.lo_rps:,.0f} to {second.hi_rps:,.0f})"
    )


def run(world: RealWorld, asked: argparse.Namespace, names: Sequence[str], race: Race) -> None:
    """Searches in random order, and rounds for the border before each and after the last."""
    rng = np.random.default_rng(asked.seed)
    near = fitted(race.probes, rng).rps if race.probes else coarse(world, SERVERS[asked.server][-1])
    every = [
        (number, str(one)) for number in range(asked.searches) for one in rng.permutation(names)
    ]
    turns = [(number, name) for number, name in every if race.lacks(name, number)]
    slice_s = 60 * asked.border_minutes / (len(turns) + 1)
    for number, name in [*turns, (0, "")]:
        end_s = time.monotonic() + slice_s
        last = race.probes[-1].round if race.probes else 0
        race.add_probes(probes(world, near, end_s, rng, last))
        near = centred(near, race.probes, rng)
        if name:
            race.add(replace(searched(name, world), queue=asked.server, seed=number))


def centred(near: float, gathered: Sequence[Probe], rng: np.random.Generator) -> float:
    """The middle of further loads: another one if the border lies near the end of those so far."""
    border = fitted(gathered, rng).rps
    return near if SPREAD[1] < border / near < SPREAD[-2] else border


def main() -> int:
    """Measure the border and run the race, then write rows and table."""
    names = [OURS, *([MLR] if mlr.IS_HERE else []), *RULES]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--server", choices=SERVERS, default="memcached")
    parser.add_argument("--bound-ms", type=float, default=1.0)
    parser.add_argument("--border-minutes", type=float, default=4.0)
    parser.add_argument("--searches", type=int, default=1, help="of each rule (1)")
    parser.add_argument(
        "--only", action="append", choices=names, help="a rule; may be repeated; default: all"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="folder; default: bench/race/runs/TIME-SERVER")
    asked = parser.parse_args()
    protocol, scheme, path, _ = SERVERS[asked.server]
    stamp = f"{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}-{asked.server}"
    out = asked.out or HERE / "runs" / stamp
    out.mkdir(parents=True, exist_ok=True)
    race = Race(out)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with started(protocol, SERVER_CPU) as (_, port), contextlib.suppress(KeyboardInterrupt):
        world = RealWorld(f"{scheme}://127.0.0.1:{port}{path}", asked.bound_ms / 1e3)
        if protocol == "memcache":
            offered(world.url, ["--preload", "--rate", "1000"], 0.5, 1)
        run(world, asked, asked.only or names, race)
    return written(race, asked)


def written(race: Race, asked: argparse.Namespace) -> int:
    """Rows as shares of the border, and the table, into the race's folder."""
    if not race.rows or not race.probes:
        print("no search has ended, so there is no table")
        return 3
    rng = np.random.default_rng(asked.seed)
    middle = (race.probes[-1].round + 1) / 2
    first = [one for one in race.probes if one.round <= middle]
    second = [one for one in race.probes if one.round > middle]
    border = fitted(race.probes, rng)
    text = report(border, [fitted(each or first, rng) for each in (first, second)], asked)
    if not border.is_inside:
        print(f"{text}\nthe border is not within the loads of the long run: nothing is compared")
        return 3
    shares = ({key: getattr(one, key) / border.rps for key in LOADS} for one in race.rows)
    rows = [{**asdict(one), **each} for one, each in zip(race.rows, shares, strict=True)]
    rows.sort(key=lambda row: (row["rule"] != OURS, row["rule"], row["seed"]))
    with (race.out / "rows.csv").open("w", newline="") as file:
        lines = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        lines.writeheader()
        lines.writerows(rows)
    text = f"{text}\n\n{table.text(race.out / 'rows.csv')}"
    (race.out / "table.md").write_text(text)
    print(f"\n{text}\nkept in {race.out.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
