"""The instrument against a known truth (M20): points of a selfcheck study."""

from __future__ import annotations

import random
from collections.abc import Sequence

from sojourn import units
from sojourn.plan import make
from sojourn.plan.points import Cell, Outcome, Phase, Point
from sojourn.plan.question import Known, PhaseKind, Question
from sojourn.plan.setting import LOAD, RATE, Setting
from sojourn.questions.check import asks
from sojourn.questions.check.asks import Check
from sojourn.spec import ServiceSpec, Study

_STEADY = 0.8  # utilisation at which a check takes `run.check_s`


class Checks(Question):
    """Loads of a system whose truth is known; they follow from it, so there is no load axis."""

    name = "check"
    about = "the instrument against a known truth"
    phases = (
        PhaseKind(
            name=Phase.CHECK,
            about="the instrument against theory",
            is_read=True,
            grows_with=("run.check_s",),
        ),
    )
    needs_axis = False
    tables = ("check",)
    is_alone = True

    def next_point(
        self, study: Study, service: ServiceSpec, known: Known, outcomes: Sequence[Outcome]
    ) -> Point | None:
        """The next check; they need nothing known before."""
        del known
        return next_check(study, service, outcomes)


def next_check(study: Study, service: ServiceSpec, outcomes: Sequence[Outcome]) -> Point | None:
    """The next check; None when all are made."""
    asked = asks.of(service)
    if asked is None:
        return None
    done = make.Tried(outcomes, Phase.CHECK)
    for repeat in range(study.run.check_repeats):
        block = Cell(service.label, Phase.CHECK, repeat).key()
        loads = list(_loads(asked))
        random.Random(make.seed_of(study, block)).shuffle(loads)  # noqa: S311 - not a secret
        for rho, rps in loads:
            setting = Setting.of({RATE: make.rounded(rps)} if rho is None else {LOAD: rho})
            tried = done.at(repeat, setting)
            if make.is_open(tried, study.run.retries):
                point = make.point(
                    study,
                    Cell(service.label, Phase.CHECK, repeat, setting),
                    len(tried),
                    measure_s=_length_s(study, rho),
                    offered_rps=rps,
                    fraction=rho,
                )
                return make.longer(point, tried)
    return None


def _loads(check: Check) -> Sequence[tuple[float | None, float]]:
    """(utilisation, requests/s) of every load."""
    if check.system == "null":
        return [(None, units.parse_count(rate)) for rate in check.rates]
    return [(rho, rho * check.servers / check.service_s) for rho in check.rho]


def _length_s(study: Study, rho: float | None) -> float:
    """Longer where requests depend on each other for longer.

    The relaxation time of M/M/1 grows as 1/(1 − √ρ)², about 4/(1 − ρ)² near saturation; a length
    in proportion gives every utilisation about the same number of independent requests. At most
    four times the usual length, so that the study ends; at least three quarters of it, for p99
    needs requests beyond it however independent they are.

    Source: Cohen, The Single Server Queue (1982), III.7.3.
    """
    if rho is None:
        return study.run.measure_s
    factor = ((1 - _STEADY) / (1 - rho)) ** 2
    return round(study.run.check_s * min(4.0, max(0.75, factor)), 1)


KIND = Checks()
