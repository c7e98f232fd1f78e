"""Made-up findings of questions that no other test plays, for openings."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from sojourn import analysis, spec
from sojourn.analysis.testing import measured
from sojourn.findings.findings import Findings
from sojourn.findings.measured import Measured, StudyData
from sojourn.plan import Planner
from sojourn.plan.points import Verdict
from sojourn.plan.setting import NEIGHBOUR
from sojourn.stats.testing import mg1
from sojourn.testing_questions import PLANS, answers

CAPACITY_RPS = 10_000.0
RUNS_MAX = 200
#: Times as long beside each antagonist at 100 %, by its name in the study's text.
COSTS = {"cpu": 4.0, "membw": 2.5, "llc": 1.6, "network": 1.3}


@cache
def interference() -> Findings:
    """The study with planted costs; what is not in `COSTS` costs nothing."""
    sets = ["run.repeats=3", "aa=false", "run.fractions=[0.3, 0.7]"]
    study = spec.load("interference", profile="quick", overrides=sets, asks=PLANS.mistakes)
    rng = np.random.default_rng(11)
    done: list[Measured] = []
    planner = Planner(study, PLANS)
    while point := planner.next([one.outcome for one in done]):
        if point.offered_rps is None:
            times = rng.exponential(16e9 / CAPACITY_RPS, 2_000)
        else:
            who = str(point.setting.get(NEIGHBOUR, "none")).removeprefix("noise:")
            name, _, amount = who.partition(",")[0].partition("@")
            share = float(amount.rstrip("%") or 0) / 100
            load = point.fraction or 0.0
            cost = 1 + (COSTS.get(name, 1.0) - 1) * share * load
            times = cost * mg1(rng, load, 4_000) * 1e9 / CAPACITY_RPS
        done.append(measured(point, times, seconds=2))
    return analysis.study(
        StudyData(study=study, measured=tuple(done), workers={"memcached": 1}, questions=PLANS),
        answers(),
    )


STOPPED = "client stopped: the client did not run for {} ms; use a quieter host"


@cache
def unbelieved() -> Findings:
    """A study with factors of which every run was disturbed, each by a number of its own."""
    sets = ["run.fractions=[0.3,0.7]", "run.repeats=1", "aa=false"]
    study = spec.load("key_size", profile="quick", overrides=sets, asks=PLANS.mistakes)
    rng = np.random.default_rng(7)
    done: list[Measured] = []
    planner = Planner(study, PLANS)
    while point := planner.next([one.outcome for one in done]):
        one = measured(point, rng.exponential(1e5, 2_000), seconds=2)
        why = (STOPPED.format(10 + len(done)),)
        done.append(
            replace(one, outcome=replace(one.outcome, verdict=Verdict.UNKNOWN, reasons=why))
        )
        if len(done) > RUNS_MAX:
            break
    return analysis.study(
        StudyData(study=study, measured=tuple(done), workers={"memcached": 1}, questions=PLANS),
        answers(),
    )
