"""L18, L20, L26: memcached beside a square wave on one CPU, under CFS and BVT (Fig. 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sojourn.models.replicate.kind import (
    Check,
    Curve,
    Experiment,
    Mark,
    Parameter,
    Replica,
    within,
)
from sojourn.models.replicate.paper import (
    KERNEL,
    L_MS,
    LATENCY,
    MEMCACHED,
    SERVICE_US,
    TEXT,
    TEXT_TUNING,
    WAVE,
    seconds,
)
from sojourn.models.simulator import Simulator

# fmt: off
LOADS = (0.04, 0.06, 0.08, 0.10, 0.11, 0.12, 0.13, 0.14, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45,
         0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.95)
# fmt: on
# "As good as if there were no interference" ends where p95 is this many times that alone.
DEPARTS = 2.0
BVT_AT = (0.45, 0.55)  # the loads at which its break counts as the paper's 50 %
BY_TEXT, BY_KERNEL = "rules as in the paper's text", "rules as in the kernel"


WARPS_MS = {
    BY_TEXT: (11.5, 12.1, 12.5, 13.0, 14.0, 16.0, 20.0),
    BY_KERNEL: (15.5, 16.1, 16.5, 17.0, 18.0, 20.0, 24.0),
}
RANGE_LOADS = (0.12, 0.2, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
BVT = Parameter(
    name="BVT",
    value="effective vruntime = vruntime − warp, on top of CFS",
    source="the authors' patch to CFS (L26, gist 5913713), not the BVT of Duda and Cheriton 1999",
)


@dataclass(frozen=True, slots=True)
class Case:
    """One curve: a policy and its settings; the figure it belongs to."""

    name: str
    policy: str
    group: str = ""
    warp_ms: float = 0.0
    tuning: Mapping[str, str] | None = None
    has_wave: bool = True


CASES = (
    Case("alone", "cfs", has_wave=False),
    Case("CFS", "cfs", BY_TEXT, tuning=TEXT_TUNING),
    Case("BVT, warp just above L", "bvt", BY_TEXT, L_MS + 0.1, TEXT_TUNING),
    Case("CFS, rules of the kernel", "cfs", BY_KERNEL),
    Case("BVT, kernel, warp just above L + granularity", "bvt", BY_KERNEL, L_MS + 4.1),
    Case("BVT, kernel, warp 20 ms", "bvt", BY_KERNEL, 20),
    Case("BVT, kernel, warp 24 ms", "bvt", BY_KERNEL, 24),
    Case("EEVDF (Linux 6.6)", "eevdf", BY_KERNEL),
)


def run(simulator: Simulator, share: float) -> Replica:
    """Sweep memcached's load for every case."""
    curves = sweep(simulator, CASES, LOADS, share)
    ranges = {group: _range(simulator, group, curves["alone"], share) for group in WARPS_MS}
    return Replica(
        id="L18",
        title="A square-wave neighbour on memcached's CPU: CFS and BVT (Fig. 5)",
        label="simulated",
        parameters=(
            MEMCACHED,
            WAVE,
            LATENCY,
            TEXT,
            KERNEL,
            BVT,
            Parameter(
                name="warp",
                value="12.1 ms; 16.1, 20 and 24 ms beside it",
                source="Fig. 10: larger than L; its value is not stated, so it is varied",
            ),
        ),
        curves=tuple(curves.values()),
        marks=(
            Mark(x=0.12, text="CFS breaks"),
            Mark(x=0.5, text="BVT breaks"),
            Mark(x=0.87, text="cap"),
        ),
        checks=tuple(_checks(curves)),
        notes=(
            *(_warp_range(group, breaks) for group, breaks in ranges.items()),
            (
                "With the kernel's wake-up granularity g a warp must exceed L + g, not L, to keep "
                "the wave out."
            ),
            (
                "The wave sleeps 42 ms after its 6 ms are done, so under BVT it comes less often "
                "when it is made to wait, and the cap lies a little above 87.5 %."
            ),
            "EEVDF protects a runner for its slice, so the wave delays memcached at any load.",
        ),
    )


def sweep(
    simulator: Simulator, cases: Sequence[Case], loads: Sequence[float], share: float
) -> dict[str, Curve]:
    """One curve per case, by name: p95 and throughput at every load."""
    jobs = [_job(case, load, share) for case in cases for load in loads]
    results = simulator.runs("sched", jobs)
    curves: dict[str, Curve] = {}
    for index, case in enumerate(cases):
        outcome = results[index * len(loads) : (index + 1) * len(loads)]
        services = [result["services"][0] for result in outcome]
        p95 = [service["sojourn_ns"]["p95"] for service in services]
        curves[case.name] = Curve(
            name=case.name,
            x_label="load",
            y_label="p95 µs",
            x=tuple(loads),
            y=tuple(None if value is None else value / 1e3 for value in p95),
            group=case.group,
            achieved=tuple(s["achieved_rps"] * SERVICE_US / 1e6 for s in services),
        )
    return curves


def _range(
    simulator: Simulator, group: str, alone: Curve, share: float
) -> dict[float, float | None]:
    """Where BVT breaks, by warp in ms: the paper states no warp, so its 50 % is one of these."""
    tuning = TEXT_TUNING if group == BY_TEXT else None
    cases = [Case(f"{warp:g}", "bvt", group, warp, tuning) for warp in WARPS_MS[group]]
    curves = sweep(simulator, cases, RANGE_LOADS, share / 4)
    known = dict(zip(alone.x, alone.y, strict=True))
    same = replace(alone, x=RANGE_LOADS, y=tuple(known[x] for x in RANGE_LOADS), achieved=())
    return {case.warp_ms: departs(curves[case.name], same) for case in cases}


def _warp_range(group: str, breaks: Mapping[float, float | None]) -> str:
    """The range of warps for which 50 % holds, and where the others break."""
    good = [warp for warp, at in breaks.items() if at is not None and BVT_AT[0] <= at <= BVT_AT[1]]
    range_ms = f"{min(good):g} to {max(good):g} ms" if good else "no tried warp"
    each = ", ".join(
        f"{warp:g} ms: {'never' if at is None else f'{at:.0%}'}" for warp, at in breaks.items()
    )
    return f"BVT, {group}: its break at 50 % holds for warps of {range_ms}; breaks by warp: {each}."


def _job(case: Case, load: float, share: float) -> dict[str, Any]:
    service = {
        "rate": str(load / SERVICE_US * 1e6),
        "service": f"exponential:{SERVICE_US}",
        "grant": {"warp": f"{case.warp_ms:g}ms"},
    }
    return {
        "policy": case.policy,
        "tuning": dict(case.tuning or {}),
        "services": [service],
        "neighbours": [{}] if case.has_wave else [],
        "duration": seconds(40, share),
        "allow_overload": True,
        "in_flight_max": 20_000,
    }


def departs(curve: Curve, alone: Curve) -> float | None:
    """Return the first load at which the tail is no longer that of the service alone."""
    for x, y, reference in zip(curve.x, curve.y, alone.y, strict=True):
        if reference is not None and (y is None or y > DEPARTS * reference):
            return x
    return None


def _checks(curves: Mapping[str, Curve]) -> list[Check]:
    alone, wave = curves["alone"], {k: v for k, v in curves.items() if k != "alone"}
    breaks = {name: departs(curve, alone) for name, curve in wave.items()}
    caps = {name: max(curve.achieved) for name, curve in wave.items()}
    cfs, bvt = CASES[1].name, CASES[2].name
    return [
        _break(cfs, "≈ 12 %", breaks[cfs], 0.10, 0.15),
        _break(CASES[3].name, "≈ 12 %", breaks[CASES[3].name], 0.10, 0.15),
        _break(bvt, "50 %", breaks[bvt], *BVT_AT),
        _break(CASES[4].name, "50 %", breaks[CASES[4].name], *BVT_AT),
        *(_cap(name, caps[name]) for name in (cfs, bvt)),
    ]


def _break(name: str, paper: str, value: float | None, low: float, high: float) -> Check:
    before = max((x for x in LOADS if value is not None and x < value), default=0.0)
    ours = "never" if value is None else f"between {before:.0%} and {value:.0%}"
    return within(
        value,
        low,
        high,
        form="{:.0%}",
        what=f"{name}: p95 departs from that alone",
        paper=paper,
        ours=ours,
    )


def _cap(name: str, most: float) -> Check:
    """The wave's 12.5 % are its own; the last per cent is its waiting."""
    return within(
        most,
        0.86,
        0.895,
        form="{:.1%}",
        what=f"{name}: throughput is capped",
        paper="≈ 87 %",
        ours=f"{most:.1%}",
    )


EXPERIMENT = Experiment(
    ids=("L18", "L20", "L26"),
    title="square wave under CFS and BVT",
    label="simulated",
    seconds=120,
    run=run,
)
