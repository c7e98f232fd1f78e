"""Studies for tests of checks: ideal queues, simulated with fixed seeds."""

from __future__ import annotations

import numpy as np

from sojourn.analysis.testing import measured
from sojourn.findings.measured import Measured, StudyData
from sojourn.plan.next import Planner
from sojourn.questions import PLANS
from sojourn.questions.check import asks
from sojourn.questions.check.asks import Check, OfService
from sojourn.spec import Study
from sojourn.stats.testing import mg1, mmn


def ideal(system: str, **check: object) -> OfService:
    """A synthetic service to be held against theory."""
    return OfService.model_validate(
        {
            "kind": "serve",
            "label": system.lower().replace("/", ""),
            "measure": ["check"],
            "check": Check.model_validate({"system": system, **check}).model_dump(),
        }
    )


def run_oracle(
    study: Study, *, seed: int = 1, slow: float = 1.0, path_ns: float = 0.0
) -> StudyData:
    """Plays a selfcheck study against simulated ideal queues.

    Args:
        study: services that are held against theory.
        seed: of the queues.
        slow: factor on every sojourn time; 1.05 is an instrument that is 5 % off.
        path_ns: added to every sojourn time, as the way through the kernel is.
    """
    rng = np.random.default_rng(seed)
    done: list[Measured] = []
    planner = Planner(study, PLANS)
    while point := planner.next([m.outcome for m in done]):
        check = asks.of(study.service(point.service))
        assert check is not None  # noqa: S101 - the study is a selfcheck
        n = int((point.offered_rps or 0) * point.measure_s)
        rho, warm = point.fraction or 0.5, 20_000
        if check.system == "M/M/n":
            times = mmn(rng, check.servers, rho, n + warm)
        else:
            service = np.ones(n + warm) if check.system == "M/D/1" else None
            times = mg1(rng, rho, n + warm, service=service)
        sojourn_ns = times[warm:] * check.service_s * 1e9 * slow + path_ns
        done.append(measured(point, sojourn_ns, seconds=int(point.measure_s)))
    return StudyData(study=study, measured=tuple(done), questions=PLANS)
