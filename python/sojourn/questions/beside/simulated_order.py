"""Whether the simulator puts scheduler settings in the order in which they were measured (L18).

A study of memcached beside a square wave under several settings gives loads at which the tail
departs, with intervals. The simulator of `replicate L18` is run with the study's own parameters:
its service time from the load axis, its wave, its kernel's policy, and outside of the core what the
measured tail alone has more than the simulated one. Then every pair of settings that the simulator
distinguishes is concordant, reversed, or undecided by the measured intervals.

What differs: the simulated wave sleeps after its work is done, the measured one keeps its period;
a slice is that of all simulated tasks, and of the service alone here.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sojourn import disk, programs, units
from sojourn.errors import Fault, StoreFault
from sojourn.findings.findings import Findings
from sojourn.models.simulator import Simulator
from sojourn.questions.beside.costs import Beside, BesideSection, Simulated
from sojourn.questions.beside.interference import DEPARTS
from sojourn.questions.beside.judge import NAME
from sojourn.questions.beside.words import break_words
from sojourn.spec import words
from sojourn.store import files

FILE, SCHEMA = "simulated.json", "sojourn.simulated/1"
BYTES = 1024**2  # of that file
POLICY = ".knobs.policy"  # the factor whose levels are settings
LOADS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9)
DURATION = "6s"  # simulated: 125 periods of 48 ms
IN_FLIGHT_MAX = 20_000
WEIGHT, STEP, IDLE_WEIGHT = 1024, 1.25, 3  # kernel/sched: NICE_0_LOAD, sched_prio_to_weight
EEVDF_SINCE = (6, 6)
CONCORDANT, REVERSED, UNDECIDED = "concordant", "reversed", "undecided"
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


def with_order(findings: Findings, folder: Path) -> Findings:
    """The findings with the simulator's order in their section, where the study is about one.

    Args:
        findings: of a record.
        folder: of the record, where the simulator's answer is stored: it is the same every time.
    """
    section = findings.section(BesideSection)
    if section is None or (asked := asked_of(section, findings)) is None:
        return findings
    try:
        at = known(asked, folder)
    except Fault as fault:
        message = f"The simulator's order of the settings is unknown: {fault.what}."
        return findings.having(NAME, replace(section, order_words=message))
    own = [one for one in section.found if setting_of(one) in at]
    pairs = tuple(pairs_of(own, at))
    text = in_words(pairs, asked, [setting_of(one) for one in section.found], at)
    result = findings.having(NAME, replace(section, order=pairs, order_words=text))
    answer = findings.answer.replace(section.headline, f"{section.headline} {text}", 1)
    return replace(result, answer=answer)


def setting_of(one: Beside) -> str:
    """The level of the knob `policy`, if that alone tells settings apart; else ""."""
    keys = [key for key, _ in one.levels]
    return str(one.levels[0][1]) if len(keys) == 1 and keys[0].endswith(POLICY) else ""


def asked_of(section: BesideSection, findings: Findings) -> Asked | None:
    """What is to be simulated; None where this is not about settings beside one square wave."""
    selected = [one for one in section.found if setting_of(one) and "wave" in one.neighbour]
    services = {(one.service, one.neighbour) for one in selected}
    if len(selected) < 2 or len(services) != 1:
        return None
    label, neighbour = services.pop()
    axis = next((s.max_rps for s in findings.services if s.label == label and s.max_rps), None)
    rows = [row for row in selected[0].rows if row.alone_ns and math.isfinite(row.alone_ns)]
    if axis is None or not rows:
        return None
    inputs = words.read(neighbour, lead="kind", at="intensity").params
    return Asked(
        settings=tuple(setting_of(one) for one in selected),
        service_us=1e6 / axis,
        busy=str(inputs.get("busy", "6ms")),
        period=str(inputs.get("period", "48ms")),
        most=max(row.load for one in selected for row in one.rows),
        alone_us=(rows[0].alone_ns or 0.0) / 1e3,
        alone_load=rows[0].load,
        base=base_of(findings.environment),
        q=f"p{100 * selected[0].q:g}",
    )


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


def pairs_of(cases: Sequence[Beside], at: Mapping[str, float]) -> list[Simulated]:
    """Every pair of settings that the simulator distinguishes, the one that breaks first before.

    Args:
        cases: as measured, settings that were simulated.
        at: load at which each breaks in the simulator.
    """
    pairs = []
    for one, other in itertools.combinations(cases, 2):
        first, second = sorted((one, other), key=lambda b: at[setting_of(b)])
        loads = at[setting_of(first)], at[setting_of(second)]
        if loads[0] == loads[1]:
            continue
        verdict = UNDECIDED
        if first.breaks.most and second.breaks.most:
            if first.breaks.is_before(second.breaks):
                verdict = CONCORDANT
            elif second.breaks.is_before(first.breaks):
                verdict = REVERSED
        pairs.append(
            Simulated(
                one=setting_of(first),
                other=setting_of(second),
                simulated=loads,
                verdict=verdict,
                measured=(break_words(first.breaks), break_words(second.breaks)),
            )
        )
    return pairs


def in_words(
    pairs: Sequence[Simulated], asked: Asked, settings: Sequence[str], at: Mapping[str, float]
) -> str:
    """Whether the simulator's order is the measured one, and where not, in one or two sentences."""
    count = {word: sum(p.verdict == word for p in pairs) for word in (CONCORDANT, REVERSED)}
    model = f"{asked.service_us:.3g} µs a request, busy {asked.busy} of {asked.period}"
    if not pairs:
        text = f"The simulator ({model}) separates no two of these settings"
    elif count[CONCORDANT] == len(pairs):
        text = f"The simulator's order of the settings ({model}) is the measured one in all pairs"
    else:
        text = (
            f"The simulator's order of the settings ({model}) is the measured one in "
            f"{count[CONCORDANT]} of {len(pairs)} pairs, reversed in {count[REVERSED]} and "
            f"undecided in {len(pairs) - count[CONCORDANT] - count[REVERSED]}"
        )
    wrong = [f"{p.other} breaks before {p.one}" for p in pairs if p.verdict == REVERSED]
    text += f"; measured, but not simulated: {', '.join(wrong)}" if wrong else ""
    unknown = [name for name in settings if name and name not in at]
    text += f"; it knows no {', '.join(unknown)}" if unknown else ""
    tied = math.comb(len(at), 2) - len(pairs)
    return text + (f"; {tied} more break at the same load there." if tied > 0 and pairs else ".")
