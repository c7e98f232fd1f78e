"""Shapes of a load: what the generator gets, and what is refused."""

from __future__ import annotations

import pytest

from sojourn.spec import shape


@pytest.mark.parametrize(
    ("text", "length_s", "rate"),
    [
        ("", 10, "2000"),
        ("steps:0.5@5s,1.5@5s", 10, "steps:1000@5s,3000@5s"),
        ("steps:0.5@5s,1.5@5s", 21, "steps:1000@5s,3000@5s,1000@5s,3000@5s,1000@5s"),
        ("steps:1@8s,3@500ms", 9, "steps:2000@8s,6000@0.5s,2000@8s"),
        ("sine:0.9,10m", 60, "sine:2000,1800,600s"),
    ],
)
def test_a_shape_in_shares_becomes_a_rate_in_requests(
    text: str, length_s: float, rate: str
) -> None:
    assert shape.rate(text, rps=2000, length_s=length_s) == rate
    assert shape.accepted(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "step:0.5@5s",
        "steps:",
        "steps:0.5",
        "steps:0.5@5s,",
        "steps:-1@5s",
        "steps:nan@5s",
        "steps:inf@5s",
        "steps:1@10ms",
        "steps:0@5s,0@5s",
        "sine:1.5,10s",
        "sine:0.5",
        "sine:0.5,0s",
        "ramp:1..2",
    ],
)
def test_another_form_is_refused_with_the_right_one(text: str) -> None:
    with pytest.raises(ValueError, match=r"steps:0\.5@5s,1\.5@5s"):
        shape.accepted(text)
