"""Made-up findings in which every question has something decided and something open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module

from sojourn import analysis, spec
from sojourn.findings import testing
from sojourn.findings.findings import Findings
from sojourn.findings.highest_load import Border, MaxLoad
from sojourn.findings.load_point import LoadPoint
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.plan.points import Verdict
from sojourn.questions import KINDS, PLANS, answers
from sojourn.stats.interval import Estimate, Interval

HOLDS, VIOLATED, UNKNOWN = Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNKNOWN
NARROW, WIDE = Interval(lo=1.0, hi=2.9), Interval(lo=1.0, hi=3.1)
made = testing.made


def blank() -> Findings:
    """A study that asks nothing, and of which nothing was measured."""
    bare = analysis.study(
        StudyData(study=spec.load("max_load_memcached"), measured=(), questions=PLANS), answers()
    )
    return replace(bare, unanswered=())


def of_service(name: str, *sections: Section, points: tuple[LoadPoint, ...] = ()) -> Findings:
    """A service each with one section of a question."""
    first = blank().services[0]
    services = [replace(first, sections={name: one}, points=points) for one in sections]
    return replace(blank(), services=tuple(services))


def of_study(name: str, section: Section) -> Findings:
    """A study whose question is about all services together."""
    bare = replace(blank().services[0], sections={})
    return replace(blank(), services=(bare,), sections={name: section})


def estimate(interval: Interval | None) -> Estimate:
    """A mean with this interval."""
    return made(Estimate, value=1.0, interval=interval, requests=1, effective=1.0)


def border(lo: float, hi: float) -> MaxLoad:
    """A search that came to this interval."""
    result = made(Border, estimate_rps=max(lo, 1.0), interval_rps=Interval(lo=lo, hi=hi))
    return MaxLoad(verdict=UNKNOWN, border=result, probes=(), wall_s=0.0)


@dataclass(frozen=True, slots=True)
class Made:
    """Findings, and what of their question is decided in them."""

    found: Findings
    done: int
    of: int
    unit: str


def every() -> Mapping[str, Made]:
    """By the name of the question; each has its own in its folder."""
    modules = ((name, import_module(f"sojourn.questions.{name}.testing_state")) for name in KINDS)
    return {name: module.found() for name, module in modules}
