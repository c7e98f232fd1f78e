"""The day of each controller, drawn: load, tail with its interval, allocation, batch work.

Usage: .venv/bin/python bench/managers/day.py [--scenario day] [--seed 1] [--out day.html]

One run of the simulation for each controller, and the best fixed allocation, which is searched with
seed 103 as in `league.py`. The page has a row for each: requests/s; p99 of a second with its 95 %
interval and the target; CPUs that the job may use; CPUs that it used. Every third second is drawn.
`--scenario tuesday` is a day of 24 hours on 24 cores, of the week of `week.py`: there every fifth
minute is drawn.
"""

from __future__ import annotations

import argparse
import html
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from sojourn.controllers.look import Look
from sojourn.models.league import play, week
from sojourn.models.league.scenarios import SCENARIOS, Scenario
from sojourn.models.league.sharing import BATCH, WEB, Shape

TUESDAY, ORACLE_SEED = "tuesday", 103
P99_MOST_MS = 100.0  # higher ones are drawn here


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What is drawn of a scenario.

    Attributes:
        every_s: time between two points.
        unit, unit_s: of the time axis.
        oracle, row: as in `play`, for this scenario.
    """

    scenario: Scenario
    shape: Shape
    every_s: float
    unit: str
    unit_s: float
    oracle: Callable[[], Mapping[str, float]]
    row: Callable[..., play.Row]


def of_minutes(name: str) -> Drawn:
    """One of the scenarios of `league.py`."""
    one = SCENARIOS[name]
    return Drawn(
        scenario=one,
        shape=Shape(),
        every_s=3.0,
        unit="s",
        unit_s=1.0,
        oracle=lambda: play.oracle(one, ORACLE_SEED)[0],
        row=lambda kind, seed, inputs, see: play.play(kind, one, seed, inputs, see=see),
    )


def of_tuesday() -> Drawn:
    """A day of the week of `week.py`."""
    one = week.scenario(week.DAY_S, week.DAY_S)
    return Drawn(
        scenario=one,
        shape=week.SHAPE,
        every_s=300.0,
        unit="h",
        unit_s=week.HOUR_S,
        oracle=lambda: week.oracle(ORACLE_SEED, one)[0],
        row=lambda kind, seed, inputs, see: week.row(kind, seed, one, inputs, see=see),
    )


def main() -> int:
    asked, rows = arguments(), []
    what = of_tuesday() if asked.scenario == TUESDAY else of_minutes(asked.scenario)
    inputs = what.oracle()
    for name in ("oracle", *play.names()):
        points: list[dict[str, Any]] = []
        is_oracle = name == "oracle"
        row = what.row(
            "static" if is_oracle else name,
            asked.seed,
            inputs if is_oracle else None,
            lambda *seen, at=points: note(at, what, *seen),
        )
        text = f"{name}{f' {dict(inputs)}' if is_oracle else ''}"
        about = f"violated {row.violated_s:,} s, kept {row.kept:.1%} of the machine"
        rows.append((text, about, drawn(points, what)))
        print(f"{text}: {about}", flush=True)
    asked.out.write_text(page(asked.scenario, what.scenario.about, asked.seed, rows))
    print(f"written: {asked.out}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--scenario", default="day", choices=[*SCENARIOS, TUESDAY], help="(day)")
    parser.add_argument("--seed", type=int, default=1, help="of the run (1)")
    parser.add_argument("--out", type=Path, default=Path("day.html"), help="(day.html)")
    return parser.parse_args()


def note(points: list[dict[str, Any]], what: Drawn, look: Look, machine: play.Simulated) -> None:
    """From time to time: what is drawn."""
    if round(look.t_s * 10) % round(what.every_s * 10):
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
            "t": look.t_s / what.unit_s,
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


def drawn(points: list[dict[str, Any]], what: Drawn) -> str:
    """Four small figures, as SVG; axes are the same for every controller."""
    data = alt.Data(values=points)
    rule = alt.Chart(alt.Data(values=[{"y": what.shape.target_s * 1e3}]))
    x = alt.X("t:Q", title=what.unit, scale=alt.Scale(nice=False))
    y = alt.Y("lo:Q", title="p99, ms", scale=alt.Scale(domain=[0, P99_MOST_MS]))
    band = alt.Chart(data).mark_area(opacity=0.3).encode(x=x, y=y, y2="hi:Q")
    line = alt.Chart(data).mark_line(strokeWidth=1).encode(x=x, y="p99:Q")
    tail = band + line + rule.mark_rule(color="firebrick").encode(y="y:Q")
    cores = float(what.shape.cores)
    charts = (
        step(data, x, "rps", "requests/s", what.shape.peak_rps),
        tail,
        step(data, x, "may", "may use, CPUs", cores),
        step(data, x, "used", "used, CPUs", cores),
    )
    sized = [one.properties(width=250, height=90).to_dict() for one in charts]
    return "".join(str(vl_convert.vegalite_to_svg(dict(spec))) for spec in sized)


def step(data: Any, x: Any, key: str, title: str, most: float) -> Any:
    """A line of steps, from 0."""
    y = alt.Y(f"{key}:Q", title=title, scale=alt.Scale(domain=[0, most]))
    line = alt.Chart(data).mark_line(strokeWidth=1, interpolate="step-after", clip=True)
    return line.encode(x=x, y=y)


def page(name: str, about: str, seed: int, rows: list[tuple[str, str, str]]) -> str:
    parts = [
        f"<h2>{html.escape(name)}</h2><p>{html.escape(about)}</p><div>{svg}</div>"
        for name, about, svg in rows
    ]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(name)}: each controller</title>"
        "<style>body{font:14px sans-serif;margin:1rem auto;max-width:86rem}"
        "h2{margin:.6rem 0 0;font-size:1rem}p{margin:0;color:#555}"
        "div{display:flex;flex-wrap:wrap}svg{max-width:100%;height:auto}</style>"
        f"<h1>{html.escape(name)}: each controller</h1>"
        f"<p>{html.escape(about)}; simulated, seed {seed}. Band: 95 % interval of p99; red: "
        f"target; above {P99_MOST_MS:g} ms is drawn there.</p>{''.join(parts)}</html>\n"
    )


if __name__ == "__main__":
    sys.exit(main())
