"""Does the same search find the same load again? Real searches, shielded and not, in turn.

Usage: .venv/bin/python bench/search/real.py [--rounds 5] [--profile quick]

Each round searches memcached and NGINX with the shield and without it, each search being a study
of its own with fresh servers and its own peak, so that all that may differ between two days does.
A row keeps the answer, its interval (requests/s), the verdict and the time it took (s).
`hi/lo` is of one search; `overlap` counts the pairs of searches whose intervals overlap.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOJOURN = Path(sys.executable).parent / "sojourn"
STUDIES = {"memcached": "max_load_memcached", "nginx": str(HERE / "max_load_nginx.toml")}
SHIELDS = ("priority", "none")
SEARCH_LIMIT_S = 1800.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="searches of each kind (5)")
    parser.add_argument("--profile", default="quick", help="of the studies (quick)")
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = []
    path = HERE / "runs" / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-real.json"
    for round_ in range(asked.rounds):
        for shield in SHIELDS if round_ % 2 == 0 else SHIELDS[::-1]:
            for service in STUDIES:
                rows.append({"round": round_} | searched(service, shield, asked.profile))
                print(json.dumps(rows[-1]), flush=True)
                path.write_text(json.dumps({"profile": asked.profile, "rows": rows}, indent=1))
    print(table(rows))
    print(f"kept in {path}")
    return 0


def searched(service: str, shield: str, profile: str) -> dict[str, Any]:
    """The answer of one search, None where it has no number, and how long it took."""
    with tempfile.TemporaryDirectory(prefix="sojourn-real-") as results:
        command = [str(SOJOURN), "run", STUDIES[service], "--profile", profile, "--json"]
        command += ["--quiet", "--shield", shield, "--results", results]
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=SEARCH_LIMIT_S
        )
    if ended.returncode not in (0, 1, 3):
        raise SystemExit(f"{' '.join(command)} ended with {ended.returncode}: {ended.stderr}")
    summary = json.loads(ended.stdout)
    max_load = summary["services"][0]["max_load"]
    return {
        "service": service,
        "shield": shield,
        "estimate": max_load["border"]["estimate_rps"],
        "lo": max_load["border"]["interval_rps"]["lo"],
        "hi": max_load["border"]["interval_rps"]["hi"],
        "verdict": max_load["verdict"],
        "peak": summary["services"][0]["max_rps"],
        "wall_s": summary["wall_s"],
    }


def table(rows: list[dict[str, Any]]) -> str:
    """One line per service and shield: answers, widths, overlaps, time."""
    lines = ["service    shield    answers (k/s)                  hi/lo  spread  overlap  wall s"]
    for service, shield in ((s, h) for s in STUDIES for h in SHIELDS):
        some = [r for r in rows if (r["service"], r["shield"]) == (service, shield)]
        bounded = [r for r in some if r["lo"] and r["hi"]]
        results = [r["estimate"] for r in some if r["estimate"]]
        answers = " ".join(f"{x / 1e3:.0f}" if x < 1e6 else "?" for x in results)
        width = statistics.median(r["hi"] / r["lo"] for r in bounded) if bounded else float("nan")
        pairs = list(combinations(bounded, 2))
        over = sum(a["lo"] <= b["hi"] and b["lo"] <= a["hi"] for a, b in pairs)
        spread = max(results) / min(results) if results else float("nan")
        wall = statistics.median(r["wall_s"] for r in some)
        lines.append(
            f"{service:10} {shield:9} {answers:30} {width:5.2f}  {spread:6.2f}  "
            f"{over:3}/{len(pairs):<3}  {wall:.0f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
