"""The service time of `sojourn whatif`: as typed, or fitted to a record."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sojourn.cli import lowered
from sojourn.errors import SpecFault

if TYPE_CHECKING:
    from sojourn.models.calibration import Calibration
    from sojourn.models.record_loads import Loads

#: Kinds of service times, and which of their parameters are times: the others have no unit. A
#: list repeats its parameters.
TIMES: Mapping[str, tuple[bool, ...]] = {
    "fixed": (True,),
    "uniform": (True,),
    "normal": (True, True),
    "exponential": (True,),
    "pareto": (True, True, False),
    "gev": (True, True, False),
    "lognormal": (True, False),
    "gamma": (True, False),
    "bimodal": (True, True, False),
    "discrete": (True, False),
}
FIX = "write exponential:50us or gamma:1ms,2"


class ServiceTime(NamedTuple):
    """A service time.

    Attributes:
        text: as the simulator reads it.
        unit: of its times.
        doubts: what a reader must know of it, in sentences.
    """

    text: str
    unit: str
    doubts: tuple[str, ...] = ()


def service_time(text: str, record: Path | None, setting: str) -> ServiceTime:
    """The service time that is asked about."""
    if bool(text) == (record is not None):
        what = "a service time and a record are too much" if text else "there is no service time"
        raise SpecFault(
            what, at="--service", fix="write --service exponential:50us, or --from RECORD"
        )
    if record is not None:
        return _fitted(record, setting)
    if setting:
        raise SpecFault("there is no record", at="--setting", fix="write --from RECORD")
    return ServiceTime(_in_ns(text), "ns")


def _in_ns(text: str) -> str:
    """`gamma:1ms,2` in ns. Times need a unit, because 1000 may be ns or ms, and 2 s is no share."""
    if text.startswith("histogram:"):
        return text
    name, colon, rest = text.partition(":")
    times = TIMES.get(name)
    if not colon or times is None:
        raise SpecFault(f"'{text}' is no service time", at="--service", fix=FIX)
    words = rest.split(",")
    each = [_number(word, is_time=times[at % len(times)]) for at, word in enumerate(words)]
    return f"{name}:{','.join(each)}"


def _number(word: str, *, is_time: bool) -> str:
    """One parameter: a time in ns, or the number as it is."""
    from sojourn.units import parse_ns

    try:
        time_ns = "0" if word.strip() == "0" else f"{parse_ns(word, needs_unit=True)}"
    except ValueError:
        time_ns = ""
    if is_time and not time_ns:
        raise SpecFault(f"'{word}' is no time with a unit", at="--service", fix=FIX)
    if not is_time and time_ns not in {"", "0"}:
        raise SpecFault(f"'{word}' has a unit, and it is no time", at="--service", fix=FIX)
    return time_ns if is_time else word


def _fitted(record: Path, setting: str) -> ServiceTime:
    from sojourn.models import record_loads
    from sojourn.models.calibrate import calibrate
    from sojourn.models.calibration import Setup
    from sojourn.models.simulator import Simulator

    lowered.for_reading(record)
    if not record_loads.is_record(record):
        raise SpecFault("this is no record", at=str(record), fix="give results/STUDY/MACHINE/RUN")
    every = record_loads.read(record)
    fits = [one for one in every if setting in {"", one.service, one.setting}]
    if len(fits) != 1:
        known = "\n    ".join(shlex.quote(one.setting or one.service) for one in fits or every)
        what = f"{len(fits)} sweeps of the record fit, and a service time is of one"
        raise SpecFault(what, at=str(record), fix=f"choose one with --setting\n    {known}")
    one = fits[0]
    fit = calibrate(
        Simulator.find(), one.points, Setup(workers=one.workers or 1, peak_rps=one.peak_rps)
    )
    values = fit.parameters
    text = f"gamma:{values['service_us']:.6f},{max(values['cv'], 0.02):.4f}"
    return ServiceTime(text, "us", _doubts(fit, one))


def _doubts(fit: Calibration, of: Loads) -> tuple[str, ...]:
    """What speaks against a fit: its errors at high loads, doubtful runs, unknown workers."""
    from sojourn.models.points import doubted

    doubts = [f"{text}."] if (text := doubted(of.points)) else []
    if of.workers is None:
        doubts.append("The record does not say how many workers served: one is assumed.")
    if any(range_.name == "service_us" and not range_.is_identified for range_ in fit.ranges):
        doubts.append(
            "The record does not identify the service time, because other values fit equally. "
            "`sojourn calibrate RECORD` shows them."
        )
    if fit.verdict != "holds":
        worst = fit.worst_held_out
        how = "no high load was held out" if worst is None else "it misses the loads held out"
        off = f" by {worst:.0%}" if worst is not None and math.isfinite(worst) else ""
        doubts.append(
            f"The fit of the service time is {fit.verdict}: {how}{off}. "
            "`sojourn calibrate RECORD` shows where."
        )
    return tuple(doubts)
