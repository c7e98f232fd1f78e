"""Made-up findings in which every question has something decided and something open."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sojourn import analysis, spec
from sojourn.findings.findings import Border, CheckRow, Findings, LoadPoint, MaxLoad
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.plan.points import Verdict
from sojourn.questions import PLANS, answers
from sojourn.questions.attribution import judge as attribution
from sojourn.questions.beside import judge as beside
from sojourn.questions.beside.interference import Break, Number, Row
from sojourn.questions.blame import judge as blame
from sojourn.questions.blame.randomisation import Contrast
from sojourn.questions.blame.suspects import Row as SuspectRow
from sojourn.questions.breakdown.findings import Breakdown, Stages
from sojourn.questions.breakdown.findings import Cost as TraceCost
from sojourn.questions.check import judge as check
from sojourn.questions.colocation import judge as colocation
from sojourn.questions.colocation.cells import SharedCell
from sojourn.questions.isolation_cost import judge as isolation_cost
from sojourn.questions.isolation_cost.costs import Cost
from sojourn.questions.qos_matrix import judge as qos_matrix
from sojourn.questions.scheduler_bakeoff import judge as scheduler_bakeoff
from sojourn.questions.scheduler_bakeoff.properties import ALL, Property
from sojourn.questions.smt_pairs import judge as smt_pairs
from sojourn.questions.together import judge as together
from sojourn.questions.together.meetings import Met
from sojourn.stats.interval import Estimate, Interval
from sojourn.stats.quantile_regression import Fit, Term

HOLDS, VIOLATED, UNKNOWN = Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNKNOWN
NARROW, WIDE = Interval(lo=1.0, hi=2.9), Interval(lo=1.0, hi=3.1)
T = TypeVar("T")


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


def made(kind: type[T], **known: Any) -> T:
    """An object of a dataclass of which only these fields matter; the others are None."""
    names = kind.__dataclass_fields__  # type: ignore[attr-defined]
    return kind(**{**dict.fromkeys(names), **known})


def estimate(interval: Interval | None) -> Estimate:
    """A mean with this interval."""
    return made(Estimate, value=1.0, interval=interval, requests=1, effective=1.0)


def border(lo: float, hi: float) -> MaxLoad:
    """A search that came to this interval."""
    found = made(Border, estimate_rps=max(lo, 1.0), interval_rps=Interval(lo=lo, hi=hi))
    return MaxLoad(verdict=UNKNOWN, border=found, probes=(), wall_s=0.0)


def _points(*believed: int) -> tuple[LoadPoint, ...]:
    return tuple(made(LoadPoint, fraction=0.5, is_believed=bool(one)) for one in believed)


def _isolation() -> Findings:
    def row(interval: Interval | None, **more: Any) -> isolation_cost.Row:
        cost = made(Cost, mean=estimate(interval))
        plain = {"name": "x", "missing": "", "doubts": (), "costs": {"idle": cost}}
        return made(isolation_cost.Row, **{**plain, **more})

    rows = (
        row(NARROW),
        row(WIDE),
        row(None),
        row(NARROW, doubts=("not in force",)),
        row(None, missing="no resctrl", costs={}),
    )
    return of_service("isolation_cost", isolation_cost.IsolationCosts(rows=rows))


def _colocation() -> Findings:
    def cells(*verdicts: Verdict) -> colocation.Shared:
        each = tuple(made(SharedCell, load=n / 10, verdict=v) for n, v in enumerate(verdicts, 1))
        return made(colocation.Shared, neighbour="xz", cells=each)

    alone = replace(cells(UNKNOWN), neighbour="")
    stopped = cells(HOLDS, VIOLATED, UNKNOWN)  # above the border nothing is open
    open_ = cells(HOLDS, UNKNOWN, VIOLATED)
    return of_study("colocation", colocation.Colocation(shared=(alone, stopped, open_)))


def _beside() -> Findings:
    def row(load: float, state: str, interval: Interval | None = None) -> Row:
        return made(Row, load=load, state=state, ratio=Number(1.5, interval) if interval else None)

    broken = made(
        beside.Beside,
        breaks=Break(0.1, 0.3, 0.6),
        rows=(row(0.1, "alone"), row(0.3, "departed"), row(0.6, "open")),
    )
    open_ = made(
        beside.Beside,
        breaks=Break(0.0, math.inf, 0.6),
        rows=(row(0.1, "open", NARROW), row(0.3, "open", WIDE), row(0.6, "open")),
    )
    return of_study("beside", beside.BesideSection(found=(broken, open_)))


def _blame() -> Findings:
    words = ("guilty", "cleared", "undecided")
    rows = tuple(made(SuspectRow, name=w, word=w, stop=made(Contrast)) for w in words)
    return of_service("blame", blame.Blames(rows=rows))


def _matrix(*meets: str) -> qos_matrix.Matrix:
    cells = tuple(made(qos_matrix.MatrixCell, row=0.1, column=0.1, meets=one) for one in meets)
    return made(qos_matrix.Matrix, services=("a", "b"), cells=cells)


def _bakeoff() -> Findings:
    properties = tuple(
        Property(name=name, verdict=verdict, said="")
        for name, verdict in zip(ALL, ("yes", "no", "undecided"), strict=True)
    )
    one = made(
        scheduler_bakeoff.Candidate, properties=properties, fits=3, cells=9, open=2, paper=()
    )
    bare = replace(one, properties=(), cells=0, open=0)
    found = of_study("scheduler_bakeoff", scheduler_bakeoff.Bakeoff(candidates=(one, bare)))
    part = qos_matrix.QosMatrix(matrices=(_matrix("both", "open"),))  # is in it already
    return found.having("qos_matrix", part)


def _attribution() -> Findings:
    def term(interval: Interval, *names: str) -> Term:
        return made(Term, factors=names, interval=interval)

    tail = (term(NARROW, "a"), term(WIDE, "b"), term(NARROW, "a", "b"))
    fits = tuple(made(Fit, q=q, terms=tail) for q in (0.5, 0.99))
    some = attribution.Attributed(levels=(("a", "1", "2"), ("b", "1", "2")), fits=fits)
    none = attribution.Attributed(levels=(("a", "1", "2"),))
    return of_study("attribution", attribution.Attributions(of=(some, none)))


def _together() -> Findings:
    ends = ((1.0, 2.9), (1.0, 3.1), (None, None))
    met = tuple(
        Met(service="a", fraction=0.3, offered_rps=1.0, beside=(), blocks=2, lo=lo, hi=hi)
        for lo, hi in ends
    )
    return of_study("together", together.Together(met=met))


def _smt() -> Findings:
    ends = (NARROW, WIDE, None)
    pairs = tuple(smt_pairs.Pair(program="xz", speed_up=1.2, interval=one) for one in ends)
    return of_study("smt_pairs", smt_pairs.SmtPairsFound(pairs=pairs))


def _check() -> Findings:
    rows = tuple(made(CheckRow, verdict=v) for v in (HOLDS, VIOLATED, UNKNOWN))
    return of_study("check", check.Checks(rows=rows))


def _breakdown() -> Findings:
    none = made(TraceCost, pairs=0)
    columns = tuple(made(Stages, verdict=v, cost=none) for v in (HOLDS, UNKNOWN))
    return of_service("breakdown", Breakdown(columns=columns))


@dataclass(frozen=True, slots=True)
class Made:
    """Findings, and what of their question is decided in them."""

    found: Findings
    done: int
    of: int
    unit: str


def every() -> Mapping[str, Made]:
    """By the name of the question."""
    return {
        "sweep": Made(of_service("sweep", Section(), points=_points(1, 0)), 1, 2, "loads"),
        "max_load": Made(
            of_service(
                "max_load", border(100, 290), border(100, 310), border(0, 0), border(100, math.inf)
            ),
            2,
            4,
            "services",
        ),
        "null": Made(
            of_service("null", Section(verdict=HOLDS), Section(verdict=UNKNOWN)), 1, 2, "services"
        ),
        "breakdown": Made(_breakdown(), 1, 2, "conditions"),
        "check": Made(_check(), 2, 3, "comparisons"),
        "isolation_cost": Made(_isolation(), 1, 4, "costs"),
        "attribution": Made(_attribution(), 1, 3, "factors"),
        "colocation": Made(_colocation(), 5, 6, "cells"),
        "beside": Made(_beside(), 4, 6, "loads"),
        "blame": Made(_blame(), 2, 3, "suspects"),
        "together": Made(_together(), 1, 3, "ratios"),
        "smt_pairs": Made(_smt(), 1, 3, "programs"),
        "qos_matrix": Made(
            of_study(
                "qos_matrix",
                qos_matrix.QosMatrix(
                    matrices=(_matrix("both", "a only", "open"), _matrix("neither"))
                ),
            ),
            3,
            4,
            "cells",
        ),
        "scheduler_bakeoff": Made(_bakeoff(), 9, 15, "pairs and properties"),
    }
