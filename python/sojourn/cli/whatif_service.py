"""The service time of `sojourn whatif`: as typed, or fitted to a record."""

from __future__ import annotations

import shlex
from pathlib import Path

from sojourn.cli import lowered
from sojourn.errors import SpecFault


def service_time(text: str, record: Path | None, setting: str) -> tuple[str, str]:
    """The service time as the simulator reads it, and its unit."""
    if bool(text) == (record is not None):
        what = "a service time and a record are too much" if text else "there is no service time"
        raise SpecFault(
            what, at="--service", fix="write --service exponential:50us, or --from RECORD"
        )
    if record is not None:
        return _fitted(record, setting), "us"
    if setting:
        raise SpecFault("there is no record", at="--setting", fix="write --from RECORD")
    return _in_ns(text), "ns"


def _in_ns(text: str) -> str:
    """`gamma:1ms,2` in ns; a number without a unit stays as it is."""
    from sojourn.units import parse_ns

    if text.startswith("histogram:"):
        return text
    name, colon, rest = text.partition(":")
    words = []
    has_unit = False
    for word in rest.split(","):
        try:
            words.append(f"{parse_ns(word, needs_unit=True)}")
            has_unit = True
        except ValueError:
            words.append(word)
    if not colon or not has_unit:
        raise SpecFault(
            f"'{text}' is no service time",
            at="--service",
            fix="write exponential:50us or gamma:1ms,2",
        )
    return f"{name}:{','.join(words)}"


def _fitted(record: Path, setting: str) -> str:
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
    fit = calibrate(Simulator.find(), one.points, Setup(peak_rps=one.peak_rps))
    values = fit.parameters
    return f"gamma:{values['service_us']:.6f},{max(values['cv'], 0.02):.4f}"
