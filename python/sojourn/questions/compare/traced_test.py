"""Traced runs after the answer of a comparison."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from sojourn.analysis.comparison_rows import Moved
from sojourn.plan import next_point
from sojourn.plan.points import Outcome, Verdict
from sojourn.plan.setting import EVERY, TRACER
from sojourn.questions import PLANS, forms
from sojourn.questions.compare import block_runs
from sojourn.questions.compare.compare_test import asked, found, noise, played, section
from sojourn.questions.compare.words import moved_words
from sojourn.spec import Study

MOVED = Moved(
    what="b against a",
    answer="the mean moved from 1 ms to 2 ms: <read> +1.0 ms (0.9 to 1.1)",
    rows=(("mean", "<read>|", "1 ms", "2 ms", "+1.0 ms", "+0.9 to +1.1", "moved"),),
)


def run(study: Study, slower: float) -> list[Outcome]:
    return played(study, lambda lot, label, _: noise(lot) * (slower if label == "b" else 1))


def of_traces(done: list[Outcome]) -> list[Outcome]:
    return [one for one in done if one.point.phase is block_runs.TRACED]


@pytest.mark.parametrize("is_gate", [False, True])
@pytest.mark.parametrize(
    ("slower", "traces"), [(1.0, {}), (1.3, {"a": 3, "b": 3})], ids=["same", "slower"]
)
def test_services_are_traced_if_one_is_worse(
    slower: float, traces: dict[str, int], *, is_gate: bool
) -> None:
    done = run(asked(gate=is_gate, trace=3), slower)
    own = of_traces(done)
    assert Counter(one.point.service for one in own) == traces
    assert own == done[len(done) - len(own) :], "after the answer"
    assert {one.point.setting[TRACER] for one in own} <= {EVERY}
    assert len({one.point.key for one in own}) == len(own)
    if own:  # the tail of 1 % needs requests
        point = own[0].point
        assert (point.offered_rps or 0) * point.measure_s >= 4000


def test_traced_runs_change_no_number() -> None:
    plain, traced = asked(), asked(trace=2)
    rows = [section(found(study, run(study, 1.3))).rows for study in (plain, traced)]
    assert rows[0] == rows[1]


def test_a_service_that_cannot_be_traced_is_tried_once() -> None:
    study = asked(trace=5)
    done = run(asked(), 1.3)
    for _ in range(10):
        if (point := next_point(study, done, PLANS)) is None:
            break
        failed = replace(done[0], point=point, requests=0, verdict=Verdict.UNKNOWN)
        done.append(failed)
    assert len(of_traces(done)) == 1
    compared = section(found(study, done))
    assert compared.is_traced
    assert compared.verdict is Verdict.VIOLATED
    assert moved_words(compared) == [
        "What moved is not known, because no trace of these services is valid."
    ]


def test_every_form_of_a_gate_says_what_moved() -> None:
    study = asked(gate=True, trace=1)
    findings = found(study, run(study, 1.3))
    moved = replace(section(findings), moved=(MOVED,))
    made = forms(replace(findings, sections={"compare": moved}))
    for form in made.values():
        assert "the mean moved from 1 ms to 2 ms" in form
    assert "<read>" not in made["markdown"] + made["junit"]
    assert made["annotation"].startswith("::error title=sojourn gate::b is worse than a")
    assert "%25" in made["annotation"]
    assert "\n" not in made["annotation"]


def test_a_study_without_traces_is_written_as_before() -> None:
    assert "trace" not in asked().model_dump()["compare"]
    assert asked(trace=2).model_dump()["compare"]["trace"] == 2
