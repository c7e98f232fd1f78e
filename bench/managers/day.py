"""The day of each controller, drawn: load, tail with its interval, allocation, batch work.

Usage: .venv/bin/python bench/managers/day.py [--scenario day] [--seed 1] [--out day.html]

One run of the simulation for each controller, and the best fixed allocation, which is searched with
seed 103 as in `league.py`. The page has a row for each: requests/s; p99 of each second with its
95 % interval and the target; CPUs that the job may use; CPUs that it used. Every third second is
drawn.
"""

from __future__ import annotations

import argparse
import html
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from sojourn.controllers.look import Look
from sojourn.models.league import play
from sojourn.models.league.machine import BATCH, WEB, Machine, Shape
from sojourn.models.league.scenarios import SCENARIOS

EVERY_S, ORACLE_SEED = 3, 103
P99_MOST_MS = 100.0  # higher ones are drawn here


def main() -> int:
    asked = arguments()
    scenario, rows = SCENARIOS[asked.scenario], []
    inputs, _ = play.oracle(scenario, ORACLE_SEED)
    for name in ("oracle", *play.names()):
        points: list[dict[str, Any]] = []
        constants = inputs if name == "oracle" else None
        kind = "static" if name == "oracle" else name
        row = play.play(
            kind, scenario, asked.seed, constants, see=lambda *seen, at=points: note(at, *seen)
        )
        text = f"{name}{f' {dict(inputs)}' if name == 'oracle' else ''}"
        about = f"violated {row.violated_s} s, kept {row.kept:.1%} of the machine"
        rows.append((text, about, drawn(points)))
        print(f"{text}: {about}", flush=True)
    asked.out.write_text(page(scenario.name, scenario.about, asked.seed, rows))
    print(f"written: {asked.out}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--scenario", default="day", choices=[*SCENARIOS], help="(day)")
    parser.add_argument("--seed", type=int, default=1, help="of the run (1)")
    parser.add_argument("--out", type=Path, default=Path("day.html"), help="(day.html)")
    return parser.parse_args()


def note(points: list[dict[str, Any]], look: Look, machine: Machine) -> None:
    """Every third second: what is drawn."""
    tick = round(look.t_s * 10)
    if tick % (10 * EVERY_S):
        return
    web, batch = look.groups[WEB], machine.now[BATCH]
    window = next((w for w in web.windows if w.length_ms == 1000), None)
    cores = float(look.cpus)
    may = min(
        cores if batch.quota is None else batch.quota,
        cores if batch.cores is None else float(batch.cores),
    )
    points.append(
        {
            "t": look.t_s,
            "rps": window.n if window else None,
            "p99": _ms(window.p99_ns if window else None),
            "lo": _ms(window.lo_ns if window else None),
            "hi": _ms(window.hi_ns if window and window.hi_ns else P99_MOST_MS * 1e6),
            "may": may,
            "used": look.groups[BATCH].signal("cpu"),
        }
    )


def _ms(value_ns: float | None) -> float | None:
    return None if value_ns is None else round(min(value_ns / 1e6, P99_MOST_MS), 2)


def drawn(points: list[dict[str, Any]]) -> str:
    """Four small figures beside each other, as SVG."""
    data = alt.Data(values=points)
    target_ms = Shape().target_s * 1e3
    rule = alt.Chart(alt.Data(values=[{"y": target_ms}]))
    x = alt.X("t:Q", title="s")
    band = alt.Chart(data).mark_area(opacity=0.3).encode(
        x=x, y=alt.Y("lo:Q", title="p99, ms"), y2="hi:Q"
    )  # fmt: skip
    line = alt.Chart(data).mark_line(strokeWidth=1).encode(x=x, y="p99:Q")
    tail = band + line + rule.mark_rule(color="firebrick").encode(y="y:Q")
    charts = [
        one.properties(width=250, height=90)
        for one in (step(data, x, "rps", "requests/s"), tail, step(data, x, "may", "may use, CPUs"),
                    step(data, x, "used", "used, CPUs"))
    ]  # fmt: skip
    spec: Mapping[str, Any] = alt.hconcat(*charts).to_dict()
    return str(vl_convert.vegalite_to_svg(dict(spec)))


def step(data: Any, x: Any, key: str, title: str) -> Any:
    """A line of steps, from 0."""
    return (
        alt.Chart(data)
        .mark_line(strokeWidth=1, interpolate="step-after")
        .encode(x=x, y=alt.Y(f"{key}:Q", title=title, scale=alt.Scale(zero=True)))
    )


def page(name: str, about: str, seed: int, rows: list[tuple[str, str, str]]) -> str:
    parts = [
        f"<h2>{html.escape(name)}</h2><p>{html.escape(about)}</p>{svg}" for name, about, svg in rows
    ]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f"<title>{html.escape(name)}: each controller</title>"
        "<style>body{font:14px sans-serif;margin:1rem auto;max-width:86rem}"
        "h2{margin:.6rem 0 0;font-size:1rem}p{margin:0;color:#555}svg{max-width:100%}</style>"
        f"<h1>{html.escape(name)}: each controller</h1>"
        f"<p>{html.escape(about)}; simulated, seed {seed}. Band: 95 % interval of p99; red: "
        f"target; above {P99_MOST_MS:g} ms is drawn there.</p>{''.join(parts)}</html>\n"
    )


if __name__ == "__main__":
    sys.exit(main())
