"""How often equal runs are said to differ: A/A pairs on real memcached, against chance.

Usage: .venv/bin/python bench/aa.py [--pairs 20] [--seconds 2] [--load 0.5]

A study whose blocks hold one load, which is measured twice in each (`aa`), each block from a fresh
start. Nothing differs between the two runs of a pair, so a test at 5 % should say "differs" of one
pair in twenty. Two tests are asked:

- `noise floor`: the report's gate, |ln(t₂/t₁)| > t·σ_AA, where σ_AA comes from the *other* pairs;
- `intervals`: the 95 % intervals of the two runs, each from within its run, lie apart. Of runs
  that differ by nothing but sampling that is rarer than 5 % (some 0.6 %); what is more than that
  is what no run can know of itself: that the next one is different.

The pairs are kept under bench/runs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scipy import stats

from sojourn import store
from sojourn.analysis import aa_noise_floor, runs
from sojourn.plan import Phase
from sojourn.questions import PLANS, readers
from sojourn.record import load as stored
from sojourn.stats.quantiles import estimate

LEVEL = 0.05
QUANTILES = (0.5, 0.99)
RUNS = Path(__file__).parent / "runs"
SOJOURN = Path(sys.executable).parent / "sojourn"


def main() -> int:
    asked = arguments()
    with tempfile.TemporaryDirectory(prefix="sojourn-aa-") as name:
        with contextlib.suppress(KeyboardInterrupt):  # what there is by then is reported
            measure(asked, Path(name))
        record = store.read(store.resolve(Path(name), None))
        pairs = pairs_of(record)
    results = {f"p{q * 100:g}": differing_shares(pairs, q) for q in QUANTILES}
    RUNS.mkdir(exist_ok=True)
    path = RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-aa.json"
    selected = {"asked": vars(asked), "found": results, "pairs": pairs}
    path.write_text(json.dumps(selected, indent=1) + "\n", encoding="utf-8")
    print(table(results, len(pairs)))
    print(f"kept in {path}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=20, help="blocks, a pair each (20)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of load in each run (2)")
    parser.add_argument("--load", type=float, default=0.5, help="share of the peak (0.5)")
    return parser.parse_args()


def measure(asked: argparse.Namespace, results: Path) -> None:
    sets = (
        f"run.repeats={asked.pairs}",
        f"run.measure_s={asked.seconds}",
        f"run.fractions=[{asked.load}]",
        "run.budget_s=7200",
        "aa=true",
        'services.memcached.measure=["sweep"]',
        'services.nginx.measure=["sweep"]',
    )
    words = [part for text in sets for part in ("--set", text)]
    study = results / "aa.toml"
    checked = subprocess.run(
        [SOJOURN, "check", "latency_vs_load", "--profile", "quick", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    head, *services = checked.stdout.split("[[services]]")
    own = next(text for text in services if 'kind = "memcached"' in text)
    study.write_text(f"{head}[[services]]{own}", encoding="utf-8")
    ended = subprocess.run([SOJOURN, "run", study, "--results", results], check=False)
    if ended.returncode not in {0, 1, 3}:
        sys.exit(f"the study failed with exit code {ended.returncode}")


def pairs_of(record: store.Record) -> list[dict[str, Any]]:
    """Both runs of each pair that can be believed, with the interval of each quantile."""
    inputs = stored.study_data(record, PLANS, readers())
    sweep = [m for m in inputs.measured if m.outcome.point.phase == Phase.SWEEP]
    judged = [runs.judge(m, None) for m in sweep]
    return [
        {"key": one.run.key, "runs": [numbers(one), numbers(other)]}
        for one, other in aa_noise_floor.twins(judged)
    ]


def numbers(judged: runs.Judged) -> dict[str, Any]:
    results = {}
    for q in QUANTILES:
        ratio = runs.ratio([judged], q)
        at = estimate(judged.measured.sojourn, q, correlation=ratio)
        ends = at.interval and (at.interval.lo, at.interval.hi)
        results[f"p{q * 100:g}"] = {"ns": at.value, "interval": ends}
    return results


def differing_shares(pairs: list[dict[str, Any]], q: float) -> dict[str, Any]:
    """How often each test says that a pair differs."""
    name = f"p{q * 100:g}"
    both = [[run[name] for run in pair["runs"]] for pair in pairs]
    both = [pair for pair in both if all(run["ns"] for run in pair)]
    logs = [math.log(b["ns"] / a["ns"]) for a, b in both]
    m = len(logs)
    if m < 3:
        return {"pairs": m}
    sigma = math.sqrt(sum(d * d for d in logs) / m)
    limit = float(stats.t.ppf(1 - LEVEL / 2, m - 1))
    by_floor = sum(
        abs(d) > limit * math.sqrt(sum(e * e for j, e in enumerate(logs) if j != i) / (m - 1))
        for i, d in enumerate(logs)
    )
    apart = sum(
        a["interval"][1] < b["interval"][0] or b["interval"][1] < a["interval"][0]
        for a, b in both
        if a["interval"] and b["interval"]
    )
    return {"pairs": m, "sigma": sigma, "noise floor": by_floor, "intervals": apart}


def table(results: dict[str, dict[str, Any]], asked: int) -> str:
    lines = [f"{asked} pairs of equal runs; 'differs' at {LEVEL:.0%}"]
    for name, row in results.items():
        if "sigma" not in row:
            lines.append(f"{name}: {row['pairs']} pairs say nothing")
            continue
        m, chance = row["pairs"], LEVEL * row["pairs"]
        most = int(stats.binom.ppf(0.975, m, LEVEL))
        lines.append(
            f"{name}: σ {math.expm1(row['sigma']):.1%}; "
            f"by the noise floor {row['noise floor']} of {m} differ, "
            f"by chance {chance:.1f} (95 %: up to {most}); "
            f"by intervals within each run {row['intervals']}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
