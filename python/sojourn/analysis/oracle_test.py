"""A right instrument passes, a wrong one fails, a short one cannot tell."""

from __future__ import annotations

import pytest

from sojourn.analysis import oracle
from sojourn.analysis.study import study
from sojourn.analysis.testing import ideal, run_oracle, study_of
from sojourn.plan.points import Verdict
from sojourn.spec import Check, ServiceSpec


def systems(service_time: str, rho: tuple[float, ...]) -> list[ServiceSpec]:
    return [
        ideal("M/M/1", service_time=service_time, rho=rho),
        ideal("M/D/1", service_time=service_time, rho=rho),
    ]


def test_the_golden_theory_of_the_method() -> None:
    check = Check.model_validate({"system": "M/M/1", "service_time": "1ms"})
    golden = {0.5: (5.99, 9.21), 0.7: (9.99, 15.35), 0.8: (14.98, 23.03), 0.9: (29.96, 46.05)}
    for rho, wanted in golden.items():
        found = [oracle.theory(check, rho, q) / 1e6 for q in (0.95, 0.99)]
        assert found == pytest.approx(wanted, abs=0.006)


def test_a_right_instrument_agrees_with_theory() -> None:
    asked = study_of(*systems("50us", (0.5, 0.8)), name="selfcheck")
    found = study(run_oracle(asked, seed=4, path_ns=30_000))
    assert len(found.checks) == 12
    assert not [row for row in found.checks if row.verdict is Verdict.VIOLATED]
    held = [row for row in found.checks if row.verdict is Verdict.HOLDS]
    assert len(held) >= 10
    assert "theory includes 30" in held[0].reasons[-1]
    assert found.answer.startswith(f"{len(held)} of 12 quantities")


def test_the_path_is_what_constant_service_shows() -> None:
    asked = study_of(*systems("50us", (0.5, 0.8)), name="selfcheck")
    given = run_oracle(asked, seed=4, path_ns=12_000)
    fixed = asked.services[1]
    assert fixed.check is not None
    assert oracle.path_ns(fixed.check, given.of(fixed.label)) == pytest.approx(12_000, rel=0.01)
    assert len({row.reasons[-1] for row in study(given).checks}) == 1


def test_an_instrument_that_is_a_quarter_slow_is_caught() -> None:
    asked = study_of(*systems("50us", (0.5, 0.8)), name="selfcheck")
    found = study(run_oracle(asked, seed=4, slow=1.25))
    assert found.verdict is not Verdict.HOLDS
    wrong = [row for row in found.checks if row.verdict is Verdict.VIOLATED]
    assert len(wrong) >= 8
    assert "off theory, outside the interval" in wrong[0].reasons[0]


def test_a_short_check_is_unknown_not_passed() -> None:
    asked = study_of(ideal("M/M/1", service_time="2ms", rho=(0.8, 0.9)), name="selfcheck")
    found = study(run_oracle(asked, seed=5))
    assert {row.verdict for row in found.checks} == {Verdict.UNKNOWN}
    assert found.verdict is Verdict.UNKNOWN


def test_the_family_keeps_its_confidence() -> None:
    count = oracle.comparisons([Check.model_validate({"system": "M/M/1"})] * 3)
    assert count == 36
    assert count * (1 - oracle.confidence(count)) == pytest.approx(0.05)
