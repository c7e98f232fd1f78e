"""A forecast as people read it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator

from sojourn.foresight import study
from sojourn.foresight.doses import short
from sojourn.foresight.forecast import Forecast
from sojourn.foresight.predicted import COVERAGE
from sojourn.text.numbers import percent, percentile
from sojourn.units import show_count, show_ns

COLUMNS = ("load", "alone", "beside", f"{COVERAGE:.0%} interval")
EQUALS_MIN = 0.1  # weights below are not worth a line
INSTEAD = {
    "above": "the highest measured load is taken instead",
    "below": "half the lowest load is taken instead",
    "beyond": "a straight line from the highest one to max RPS is assumed",
}


def lines(of: Forecast) -> Iterator[str]:
    """Sentences above the table, in reading order."""
    yield f"predicted, not measured: {of.service} beside {short(of.neighbour)}"
    yield (
        f"{percentile(of.q)} within {show_ns(of.bound_ns)}: up to {_rate(of.border_rps.value)} "
        f"({_rate(of.border_rps.lo)} to {_rate(of.border_rps.hi)}); alone {_alone(of)}"
    )
    if of.progress is not None:
        yield (
            f"{short(of.neighbour)} keeps {percent(of.progress.value)} "
            f"({of.progress.lo:.0%} to {of.progress.hi:.0%}) of its pace at that load"
        )
    heavy = [one for one in of.equals if one[1] >= EQUALS_MIN]
    each = ", ".join(
        f"{name} at {share:.0%} (weight {weight:.2f})" for name, weight, share in heavy
    )
    yield f"{short(of.neighbour)} equals {each}, by what it does to {', '.join(of.rulers)}"


def rows(of: Forecast) -> Iterator[tuple[str, ...]]:
    """The table: one row for each load."""
    for one in of.loads:
        ends = f"{_ns(one.beside_ns.lo)} to {_ns(one.beside_ns.hi)}"
        yield (_rate(one.rps), _ns(one.alone_ns), _ns(one.beside_ns.value), ends)


def remarks(of: Forecast, record: str, level: str) -> Iterator[str]:
    """What a reader must know, below the table."""
    each = ", ".join(f"{name} {_rate(rps)}" for name, rps in of.guesses.items())
    yield f"simpler guesses: {each}"
    yield _how_sure(of)
    if of.censored:
        yield f"alone the bound lies outside the measured loads: {INSTEAD[of.censored]}"
    if of.not_compared:
        yield f"not compared, as not every ruler ran beside it: {', '.join(of.not_compared)}"
    if of.measured_rps is not None:
        off = of.border_rps.value / of.measured_rps - 1
        yield f"a record has them together: {_rate(of.measured_rps)}; the forecast is {off:+.0%}"
    yield f"check it: {check(record, level)}"


def _how_sure(of: Forecast) -> str:
    if not of.doses:
        return "how sure: not known, because no measured load is within the bound"
    return (
        f"how sure: each of {of.doses} doses was left out and forecast from the others; the "
        f"standard error was {math.expm1(of.error):.0%}"
    )


def check(record: str, level: str) -> str:
    """The command that measures what was predicted, and its minutes."""
    vary = f'neighbour=none,"{level}"' if "," in level else f"neighbour=none,{level}"
    runs = 2 * len(study.FRACTIONS)
    minutes = (runs * study.POINT_S + study.ROUND_S) / 60
    words = ["sojourn", "run", f"{record}/study.toml", "--vary", vary]
    return f"{shlex.join(words)}   ({minutes:.1f} minutes)"


def verdict(of: Forecast, load_rps: float) -> str:
    """Whether a load is within the target: "holds", "violated" or "unknown"."""
    border = of.border_rps
    if of.censored == "below":
        return "unknown"
    if load_rps <= border.lo:
        return "holds"
    return "violated" if load_rps > border.hi else "unknown"


def _alone(of: Forecast) -> str:
    if of.censored == "beyond":
        return f"about {_rate(of.alone_rps)}, beyond the measured loads"
    mark, way = {"above": ("≥ ", -1), "below": ("≤ ", 1)}.get(of.censored, ("", 0))
    return f"{mark}{_rate(of.alone_rps, way)}, measured"


def _rate(rps: float, way: int = 0) -> str:
    return f"{show_count(rps, way)}/s"


def _ns(value: float) -> str:
    return "the queue grows" if math.isinf(value) else show_ns(value)
