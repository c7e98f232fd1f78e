"""Settings of the scheduler, simulated under the load and the wave of a study."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import disk, programs, units
from sojourn.errors import StoreFault
from sojourn.models.simulator import Simulator
from sojourn.questions.beside.interference import DEPARTS
from sojourn.store import files

FILE, SCHEMA = "simulated.json", "sojourn.simulated/1"
BYTES = 1024**2  # of that file
LOADS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9)
DURATION = "6s"  # simulated: 125 periods of 48 ms
IN_FLIGHT_MAX = 20_000
WEIGHT, STEP, IDLE_WEIGHT = 1024, 1.25, 3  # kernel/sched: NICE_0_LOAD, sched_prio_to_weight
EEVDF_SINCE = (6, 6)
_TIME = re.compile(r"\d+(\.\d+)?(us|ms)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is simulated.

    Attributes:
        settings: levels of the knob `policy`.
        service_us: time of the core per request.
        busy, period: of the wave, as texts.
        most: the highest load.
        alone_us, alone_load: the measured tail alone and its load; what the simulated one lacks of
            it is what a request takes outside of the core.
        base: policy of the fair class: "cfs" or "eevdf".
        q: of the tail, as the simulator names it.
    """

    settings: tuple[str, ...]
    service_us: float
    busy: str
    period: str
    most: float
    alone_us: float
    alone_load: float
    base: str
    q: str


def base_of(environment: Mapping[str, Any]) -> str:
    """The policy of the fair class of the kernel that was measured on.

    >>> base_of({"kernel": {"release": "6.18.4"}}), base_of({"kernel": {"release": "5.10.0-9"}})
    ('eevdf', 'cfs')
    """
    release = str(dict(environment.get("kernel") or {}).get("release", ""))
    numbers = re.match(r"(\d+)\.(\d+)", release)
    is_old = numbers is not None and (int(numbers[1]), int(numbers[2])) < EEVDF_SINCE
    return "cfs" if is_old else "eevdf"


def terms(setting: str, base: str) -> dict[str, Any] | None:
    """What a setting is to the simulator: parts of a job; None: it knows no such setting.

    >>> terms("nice:-20", "eevdf")["grant"]["weight"], terms("deadline:1ms/2ms", "eevdf")
    (88818, None)
    """
    word, _, value = setting.partition(":")
    real_time = {"policy": "rt", "grant": {"priority": 1}}
    fair: dict[str, Any] = {"policy": base, "grant": {}}
    results: dict[str, dict[str, Any]] = {
        "other": fair,
        "batch": fair,
        "idle": {**fair, "grant": {"weight": IDLE_WEIGHT}},
        "fifo": real_time,
        "rr": real_time,
    }
    if word == "nice":
        results[word] = {**fair, "grant": {"weight": max(1, round(WEIGHT * STEP ** -int(value)))}}
    if word == "slice" and base == "eevdf":
        results[word] = {**fair, "tuning": {"slice": value}}
    if word == "bvt":
        warp = _TIME.search(value)
        results[word] = {"policy": "bvt", "grant": {"warp": warp[0] if warp else "0"}}
    return results.get(word)


def known(asked: Asked, folder: Path) -> dict[str, float]:
    """Load at which each setting breaks in the simulator, infinite for never; from the record.

    Raises:
        Fault: the simulator is missing, or failed.
    """
    path = folder / FILE
    jobs = jobs_of(asked)
    mark = hashlib.sha256(json.dumps([jobs, DEPARTS, asked.alone_us]).encode()).hexdigest()
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        stored = disk.read_json(path, most=BYTES)
        if stored["schema"] == SCHEMA and stored["of"] == mark:
            return {name: math.inf if at is None else at for name, at in stored["breaks"].items()}
    result = simulate(asked, Simulator(str(programs.find("sojourn-sim")), 2))
    table = {
        "schema": SCHEMA,
        "of": mark,
        "breaks": {name: at if math.isfinite(at) else None for name, at in result.items()},
    }
    if disk.is_own(folder):  # to look at a record of somebody else changes nothing in it
        with contextlib.suppress(StoreFault):  # it can be simulated again
            files.write_text(path, json.dumps(table, indent=1) + "\n")
    return result


def simulate(asked: Asked, simulator: Simulator) -> dict[str, float]:
    """Load at which each setting that is known there breaks; infinite: not up to the highest."""
    parts, loads = _parts(asked), _loads(asked)
    results = simulator.runs("sched", jobs_of(asked))
    tails = [result["services"][0]["sojourn_ns"][asked.q] for result in results]
    first = (tails[0] or 0.0) / 1e3
    outside_ns = max(0.0, asked.alone_us - first) * 1e3
    alone = tails[1 : 1 + len(loads)]
    outcome = {}
    for nth, name in enumerate(parts, start=1):
        ours = tails[1 + nth * len(loads) : 1 + (nth + 1) * len(loads)]
        outcome[name] = next(
            (
                load
                for load, tail, own in zip(loads, ours, alone, strict=True)
                if own is not None
                and (tail is None or tail + outside_ns > DEPARTS * (own + outside_ns))
            ),
            math.inf,
        )
    return outcome


def jobs_of(asked: Asked) -> list[dict[str, Any]]:
    """What the simulator is given: alone at its load and at all, then each setting at all."""
    parts, loads = _parts(asked), _loads(asked)
    jobs = [_job(asked, None, load) for load in (asked.alone_load, *loads)]
    return jobs + [_job(asked, of, load) for of in parts.values() for load in loads]


def _parts(asked: Asked) -> dict[str, dict[str, Any]]:
    results = ((name, terms(name, asked.base)) for name in asked.settings)
    return {name: of for name, of in results if of is not None}


def _loads(asked: Asked) -> list[float]:
    return [*(load for load in LOADS if load < asked.most), asked.most]


def _job(asked: Asked, part: Mapping[str, Any] | None, load: float) -> dict[str, Any]:
    of = part or {"policy": asked.base, "grant": {}}
    service = {
        "rate": str(load / asked.service_us * 1e6),
        "service": f"exponential:{asked.service_us:.6g}",
        "grant": of["grant"],
    }
    off_ns = units.parse_ns(asked.period) - units.parse_ns(asked.busy)
    wave = {"on": asked.busy, "off": f"{off_ns}ns"}
    # fmt: off
    return {
        "policy": of["policy"], "tuning": of.get("tuning", {}), "services": [service],
        "neighbours": [wave] if part else [], "duration": DURATION,
        "allow_overload": True, "in_flight_max": IN_FLIGHT_MAX,
    }
    # fmt: on
