"""What is found of the ideal queues, in words; which path they are held against."""

from __future__ import annotations

import pytest

from sojourn.analysis.study import study
from sojourn.analysis.testing import study_of
from sojourn.plan.points import Verdict
from sojourn.questions import answers
from sojourn.questions.check import asks
from sojourn.questions.check import judge as check
from sojourn.questions.check import truth as oracle
from sojourn.questions.check.judge import rows_of
from sojourn.questions.check.rows import CheckRow
from sojourn.questions.check.testing import ideal, run_oracle
from sojourn.stats.interval import Estimate


def test_the_null_service_shows_what_the_instrument_costs() -> None:
    asked = study_of(ideal("null", rates=("1k", "4k")), name="selfcheck")
    played = run_oracle(asked)
    findings = study(played, answers())
    assert rows_of(findings) == ()
    assert [p.offered_rps for p in findings.services[0].points] == [1_000, 4_000]
    assert findings.services[0].max_rps_rule == "highest_asked"
    assert findings.answer.startswith("The instrument itself costs: mean ")


def row(verdict: str, name: str = "p99", *, theory_ns: float = 1.0, reason: str = "") -> CheckRow:
    number = Estimate(
        q=0.99, value=None, interval=None, across_restarts=None, requests=0, effective=0
    )
    return CheckRow(
        system="M/M/1",
        rho=0.8,
        quantity=name,
        theory_ns=theory_ns,
        estimate=number,
        verdict=Verdict(verdict),
        reasons=(reason, "more") if reason else (),
    )


def test_the_selfcheck_counts_what_agreed_what_did_not_and_what_could_not_be_reported() -> None:
    held = "of 5 quantities of the ideal queues were measured as theory has them"
    rows = [row("holds"), row("holds"), row("violated", "p95"), row("violated"), row("unknown")]
    assert check.in_words(rows) == [
        f"2 {held}; not so: p95 of M/M/1 at ρ = 0.8, p99 of M/M/1 at ρ = 0.8; unknown: 1."
    ]
    assert check.in_words([row("holds")] * 5) == [f"5 {held}."]
    assert check.in_words([row("unknown")] * 5) == [f"0 {held}; unknown: 5."]
    assert check.in_words([row("holds", theory_ns=0.0)]) == []
    assert check.in_words([]) == []


def test_doubts_are_the_first_reasons_of_rows_that_do_not_hold() -> None:
    rows = [row("holds", reason="a"), row("violated", reason="b"), row("unknown", "mean")]
    assert check.doubts(rows) == ("M/M/1 ρ = 0.8 p99: b",)


def test_the_path_is_that_of_the_constant_service_or_each_system_s_own() -> None:
    """Constant service is asked first; without it each system has its own path."""
    specs = [
        ideal("M/M/1", service_time="50us", rho=(0.5,)),
        ideal("M/D/1", service_time="50us", rho=(0.5,)),
    ]
    both = run_oracle(study_of(*specs, name="selfcheck"), seed=4, path_ns=30_000)
    alone = run_oracle(study_of(specs[0], name="selfcheck"), seed=4, path_ns=30_000)
    (mm1, md1), (own,) = (check.compared(g)[::3] for g in (both, alone))
    of = asks.of(specs[1])
    assert of is not None
    path = oracle.path(of, both.of("md1")).ns
    assert mm1.theory_ns == pytest.approx(100_000 + path)
    assert md1.theory_ns == pytest.approx(75_000 + path)
    truth = asks.of(specs[0])
    assert truth is not None
    assert own.theory_ns == pytest.approx(100_000 + oracle.path(truth, alone.of("mm1")).ns)
    assert "all 3 comparisons" in " ".join(own.reasons)
