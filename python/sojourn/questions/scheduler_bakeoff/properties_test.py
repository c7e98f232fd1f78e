"""Properties of scheduler settings, from shares and delays that are known."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn.papers import schedulers as paper_schedulers
from sojourn.papers.schedulers import NO, YES
from sojourn.questions.scheduler_bakeoff import properties
from sojourn.questions.scheduler_bakeoff.files import Properties
from sojourn.questions.scheduler_bakeoff.properties import UNDECIDED


def seen(**change: Any) -> Properties:
    """Two that have what they asked for, a work-conserving CPU, and a parameter that matters."""
    table: dict[str, Any] = {
        "labels": ("a", "b"),
        "levels": {"a": {}, "b": {}},
        "cpu": 0,
        "window_s": 0.1,
        "share": {"got": [[0.5, 0.52, 0.48], [0.5, 0.48, 0.52]], "asked": [0.5, 0.5], "others": 0},
        "sleeps": {"got": [0.99, 0.98, 0.99], "others": 0.0},
        "wake": {
            "runs": [
                {"level": "slice:100ms", "late_ns": [3_000_000] * 300},
                {"level": "slice:0.1ms", "late_ns": [100_000] * 300},
            ],
            "hog": "other",
        },
    }
    for key, value in change.items():
        table[key] = {**table[key], **value}
    return Properties.model_validate(table)


def verdicts(*all_: Properties) -> tuple[str, ...]:
    return tuple(one.verdict for one in properties.judged(all_))


FIFO = {"got": [[0.95, 0.95, 0.94], [0.05, 0.04, 0.05]], "asked": [None, None], "others": 0.0}
QUOTA = {"got": [[0.45, 0.44, 0.45], [0.45, 0.45, 0.44]], "asked": [0.45, 0.45], "others": 0.0}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, (YES, YES, YES)),
        ({"share": FIFO}, (NO, YES, YES)),
        ({"share": QUOTA, "sleeps": {"got": [0.45, 0.44, 0.46]}}, (YES, NO, YES)),
        ({"share": {**FIFO, "others": 0.2}}, (UNDECIDED, YES, YES)),  # others had what is missing
        ({"share": {"got": []}}, (UNDECIDED, YES, YES)),
        ({"sleeps": {"got": [0.3, 0.9, 0.6]}}, (YES, UNDECIDED, YES)),
        ({"wake": {"runs": [{"level": "other", "late_ns": [1] * 300}]}}, (YES, YES, NO)),
        (
            {
                "wake": {
                    "runs": [
                        {"level": "fifo:9", "late_ns": [100] * 300},
                        {"level": "fifo:11", "late_ns": [110] * 300},
                    ]
                }
            },
            (YES, YES, NO),
        ),
        (
            {
                "wake": {
                    "runs": [
                        {"level": "a", "late_ns": [*[10] * 150, *[7_000] * 150]},
                        {"level": "b", "late_ns": [*[10] * 150, *[5_000] * 150]},
                    ]
                }
            },
            (YES, YES, UNDECIDED),
        ),  # near each other, and so wide that they may be far apart
        ({"wake": {"runs": [], "refused": "not here"}}, (YES, YES, UNDECIDED)),
        *(
            ({"wake": {"runs": [{"level": "fifo:11", "late_ns": [110] * 300}, other]}}, undecided)
            for undecided in ((YES, YES, UNDECIDED),)
            for other in (
                {"level": "fifo:9", "late_ns": []},  # it was not heard: that is no lack
                {"level": "fifo:11", "late_ns": [120] * 300},
            )
        ),
    ],
)
def test_each_is_judged_by_its_number(change: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert verdicts(seen(**change)) == expected


def test_the_number_and_why_it_is_undecided_are_reported() -> None:
    reserves, conserves, preempts = properties.judged([seen(share=FIFO)])
    assert "b had 0.05 (0.03 to 0.06) of 0.50, its level names none" in reserves.said
    assert "0.50 its own" in conserves.said
    assert "3 ms (3 to 3) late under slice:100ms" in preempts.said
    refused = properties.judged([seen(wake={"runs": [], "refused": "not here"})])[2]
    assert refused.said == "not here"
    coupled = properties.judged([seen(wake={"is_coupled": True})])[2]
    assert "its share of the CPU changes with it" in coupled.said


def test_windows_of_several_measurements_are_taken_together() -> None:
    wide = {"got": [0.3, 0.9, 0.8], "others": 0.0}
    assert verdicts(seen(sleeps=wide))[1] == UNDECIDED
    assert verdicts(*[seen(sleeps={"got": [0.7, 0.9, 0.8], "others": 0.0})] * 6)[1] == YES


@pytest.mark.parametrize(
    ("policies", "budget", "kind"),
    [
        (("other", "other"), "none", "default"),
        (("nice:-20", "other"), "none", "shares"),
        (("rr:rate", "rr:rate"), "none", "real-time"),
        (("fifo:rate", "fifo:rate"), "load/24ms", "quota"),
        (("bvt:16ms", "bvt:0ms"), "none", "bvt"),
        (("slice:0.1ms", "other"), "none", ""),
    ],
)
def test_a_setting_is_the_papers_kind_of_scheduler_or_none(
    policies: tuple[str, str], budget: str, kind: str
) -> None:
    levels = {
        label: {"policy": policy, "rt_quota": budget}
        for label, policy in zip("ab", policies, strict=True)
    }
    assert paper_schedulers.kind_of(levels) == kind
