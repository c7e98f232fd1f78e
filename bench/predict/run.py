"""Leave-one-out: each pair predicted from other services, and measured.

    python bench/predict/run.py measure --services memcached,nginx,redis --results DIR
    python bench/predict/run.py table --results DIR --rows bench/predict/runs/TIME.json
    python bench/predict/run.py fresh --results DIR --rows bench/predict/runs/TIME-fresh.json

`measure` runs one study after another, each of one service beside doses and neighbours. A study
that was stopped goes on where it was, so the bench may be stopped and started at any time. The
machine has to be quiet. `table` reads the records: for each pair the neighbour's runs beside the
service are left out of the forecast, and are the truth. Rows keep every run that a number rests on.
A border beyond the measured loads lies on an assumed line, so such pairs are counted apart.

`fresh` judges pairs that no constant was set by. It runs each service of the records again, beside
neighbours that it never had, by the study of its record without doses: about 2 minutes a service.
Then it prints the table of these pairs alone. `--neighbour` names others; a service that is new is
measured first by `measure --services NAME`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sojourn.cli.app  # noqa: F401 - hands the questions to the reader of studies
from sojourn.errors import SpecFault
from sojourn.foresight import curves, doses, guesses, lacking, study, victims
from sojourn.foresight.forecast import forecast
from sojourn.foresight.victims import Victim

NEIGHBOURS = (
    *("batch:xz,where=server", "batch:numpy,where=server", "rival:server", "stream:server"),
    *("fio:randwrite@50MB/s,where=server", "iperf3:tcp@300MB/s,where=server"),
)
#: None of them is among the pairs above.
FRESH = ("batch:zstd,where=server", "batch:g++,where=server", "batch:duckdb,where=server")
TARGETS = ((0.99, 1e7), (0.95, 1e7), (0.99, 1e8))
NEAR = 0.2
#: Of each target's summaries, and whether they are of borders beyond the measured loads.
TITLES = {"": False, ", beyond the measured loads, on an assumed line": True}


def measure(services: Sequence[str], results: Path) -> None:
    """Run the studies, one at a time."""
    results.mkdir(parents=True, exist_ok=True)
    for name in services:
        file = results / f"foresight_{name}.toml"
        if not file.exists():
            file.write_text(study.text(name, NEIGHBOURS))
        words = ["-m", "sojourn", "run", str(file), "--results", str(results)]
        code = subprocess.run([sys.executable, *words], check=False).returncode
        print(f"{name}: exit code {code}", flush=True)


def measure_fresh(neighbours: Sequence[str], results: Path) -> None:
    """Run each service that has doses beside further neighbours, by the study of its record."""
    known = {one.label: one for one in reversed(victims.all_of(results))}
    levels = ",".join(["none", *(f'"{one}"' for one in neighbours)])
    for label, one in known.items():
        if len(one.doses) < lacking.DOSES_MIN or set(neighbours) <= set(one.neighbours):
            continue
        file = Path(one.record) / "study.toml"
        words = ["-m", "sojourn", "run", str(file), "--vary", f"neighbour={levels}"]
        words += ["--results", str(results)]
        code = subprocess.run([sys.executable, *words], check=False).returncode
        print(f"{label}: exit code {code}", flush=True)


def pairs(every: Sequence[Victim]) -> Iterator[tuple[Victim, str]]:
    """The newest record of each service, beside each of its neighbours."""
    newest = {one.label: one for one in reversed(every)}
    for one in newest.values():
        for level in one.neighbours:
            yield one, level


def row(
    every: Sequence[Victim], one: Victim, level: str, q: float, bound_ns: float
) -> dict[str, Any]:
    """One pair under one target; or why there is no forecast or truth."""
    about = {"service": one.label, "neighbour": doses.short(level), "q": q, "bound_ns": bound_ns}
    try:
        known = lacking.known(every, one.label, level)
    except SpecFault as fault:
        return {**about, "left_out": fault.what}
    truth, where = curves.of(one.levels[level], q, one.peak_rps).border(bound_ns)
    alone, censored = curves.of(one.levels["none"], q, one.peak_rps).border(bound_ns)
    if where in {"below", "above"} or censored == "below":
        return {
            **about,
            "left_out": f"the border is outside the measured loads: {where or censored}",
        }
    gathered = forecast(one, known.rulers, level, q, bound_ns=bound_ns)
    return {
        **about,
        "measured": truth,
        "is_beyond": where == "beyond",
        "alone": alone,
        "is_alone_beyond": censored == "beyond",
        "predicted": gathered.border_rps.value,
        "lo": gathered.border_rps.lo,
        "hi": gathered.border_rps.hi,
        "equals": gathered.equals[:3],
        "progress": None if gathered.progress is None else gathered.progress.value,
        "guesses": gathered.guesses,
    }


def table(results: Path, rows_file: Path | None, only: Sequence[str] = ()) -> None:
    """Print every pair, or those of some neighbours, then how often each guess was near."""
    every = victims.all_of(results)
    wanted = [pair for pair in pairs(every) if not only or pair[1] in only]
    rows = [row(every, *pair, *target) for target in TARGETS for pair in wanted]
    for one in rows:
        print(_line(one))
    for q, bound_ns in TARGETS:
        own = [one for one in rows if (one["q"], one["bound_ns"]) == (q, bound_ns)]
        for title, is_beyond in TITLES.items():
            each = [one for one in own if one.get("is_beyond") is is_beyond]
            _summary(f"{_target(q, bound_ns)}{title}", each)
    if rows_file:
        whole = {"schema": "sojourn.bench.predict/1", "rows": rows, "runs": list(_runs(every))}
        rows_file.write_text(json.dumps(whole) + "\n")


def _line(one: dict[str, Any]) -> str:
    head = f"{_target(one['q'], one['bound_ns'])}  {one['service']:<14} {one['neighbour']:<22}"
    if "measured" not in one:
        return f"{head} left out: {one['left_out']}"
    truth = one["measured"]
    held = "in" if one["lo"] <= truth <= one["hi"] else "OUT"
    others = "  ".join(f"{name} {value / truth - 1:+.0%}" for name, value in one["guesses"].items())
    ends = f"{one['lo']:,.0f} to {one['hi']:,.0f} {held}"
    off = f"{one['predicted'] / truth - 1:+.0%}"
    word = "assumed" if one["is_beyond"] else "measured"
    numbers = f"{word:<8} {truth:>9,.0f}  predicted {one['predicted']:>9,.0f}"
    return f"{head} {numbers} ({off}; {ends})  {others}"


def _target(q: float, bound_ns: float) -> str:
    return f"p{q * 100:g} ≤ {bound_ns / 1e6:g} ms"


def _summary(title: str, rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        return
    print(f"\n{title}: {len(rows)} pairs")
    values = {"predicted": [one["predicted"] for one in rows]}
    for name in guesses.NAMES:
        values[name] = [one["guesses"].get(name, np.nan) for one in rows]
    truth = np.array([one["measured"] for one in rows])
    for name, each in values.items():
        off = np.abs(np.array(each) / truth - 1)
        near = np.mean(off <= NEAR)
        print(f"  {name:<16} within ±20 %: {near:4.0%}   median error {np.median(off):.0%}")
    held = np.mean([one["lo"] <= one["measured"] <= one["hi"] for one in rows])
    print(f"  intervals (90 %) hold {held:.0%}")


def _runs(every: Sequence[Victim]) -> Iterator[dict[str, Any]]:
    for one in {victim.label: victim for victim in reversed(every)}.values():
        for level, runs in one.levels.items():
            for run in runs:
                yield {
                    "service": one.label, "peak_rps": one.peak_rps, "neighbour": level,
                    "rps": run.rps, "achieved_rps": run.achieved_rps,
                    "tails_ns": {str(q): ns for q, ns in run.tails.items() if np.isfinite(ns)},
                    "progress": run.progress, "cpu_ns": run.cpu_ns,
                    "cpu": run.cpu, "others": run.others,
                }  # fmt: skip


def main() -> None:
    """Measure, or make the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("measure", "table", "fresh"))
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--services", default="memcached,nginx,redis,synthetic")
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--neighbour", action="append", help="of `fresh`; may be repeated")
    of = parser.parse_args()
    if of.what == "measure":
        measure(of.services.split(","), of.results)
    elif of.what == "fresh":
        fresh = of.neighbour or list(FRESH)
        measure_fresh(fresh, of.results)
        table(of.results, of.rows, fresh)
    else:
        table(of.results, of.rows)


if __name__ == "__main__":
    main()
