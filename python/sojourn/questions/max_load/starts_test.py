"""What 90 % of the starts carry, beside what the median one does."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sojourn.analysis.queue import QUEUES
from sojourn.analysis.served import Served
from sojourn.findings.findings import Qos
from sojourn.findings.highest_load import Border
from sojourn.findings.measured import Measured, StudyData
from sojourn.plan import Outcome, progress, simulated
from sojourn.plan.simulated import play, study
from sojourn.questions import PLANS
from sojourn.questions.max_load import worst
from sojourn.spec import Study


def border(of: Study, outcomes: list[Outcome]) -> Border:
    measured = tuple(Measured(outcome=one) for one in outcomes)
    data = StudyData(study=of, measured=measured, questions=PLANS)
    known, qos = (
        progress(of, of.services[0], outcomes, PLANS),
        Qos(q=0.99, bound_ns=1e6, rule="given"),
    )
    search = worst.judge(data, measured, known, qos, None)
    assert search is not None
    assert search.border is not None
    return search.border


def test_it_takes_several_starts_and_two_known_ends() -> None:
    of = study('services.memcached.measure=["sweep", "max_load"]', profile="quick")
    outcomes = play(of, Served(queue=QUEUES[0]).measure, PLANS)
    whole = border(of, outcomes)
    assert whole.start_rps is not None
    assert 0 < whole.start_rps < whole.estimate_rps
    posterior = simulated.search_of(outcomes, of, PLANS).posterior
    assert worst._of_one(whole, posterior) == pytest.approx(whole.start_rps)
    assert worst._of_one(replace(whole, starts=2), posterior) is None
    is_open = replace(whole, interval_rps=replace(whole.interval_rps, hi=math.inf))
    assert worst._of_one(is_open, posterior) is None, "nothing was seen to fail"
