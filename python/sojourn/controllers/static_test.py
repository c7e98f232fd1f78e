"""The fixed allocation: what no knob takes is refused before the start."""

from __future__ import annotations

import pytest

from sojourn.controllers import kind
from sojourn.controllers.named import rule
from sojourn.controllers.rule import OfKind
from sojourn.controllers.testing import follow, look
from sojourn.errors import SpecFault


@pytest.mark.parametrize(
    ("constants", "says"),
    [
        ({"nice": 20}, "policy nice:20: policy"),
        ({"ways": 65}, "ways 65: ways"),
        ({"ways": 0.3}, "ways 0: ways"),
        ({"bandwidth": 101}, "bandwidth 101: bandwidth"),
        ({"weight": 0}, "weight 0: weight"),
        ({"cores": 1e6}, "cores 1000000: cores"),
    ],
)
def test_a_level_that_no_knob_has_is_refused_before_the_start(
    constants: dict[str, float], says: str
) -> None:
    one = rule("static", constants)
    assert isinstance(one, OfKind)
    with pytest.raises(SpecFault, match=f"static cannot set {says}: "):
        one.check({*kind("static").constants}, {})


@pytest.mark.parametrize(
    ("constants", "wanted"),
    [
        ({"sched_idle": 1, "nice": 25}, {"policy": "idle"}),
        (
            {"nice": 19, "ways": 1, "bandwidth": 100},
            {"policy": "nice:19", "ways": 1, "bandwidth": 100},
        ),
        ({"egress": 1e6, "frequency": 2e9}, {"egress": 1e6, "frequency": 2e9}),
        ({}, {}),
    ],
)
def test_what_it_asks_for_is_what_it_sets(
    constants: dict[str, float], wanted: dict[str, object]
) -> None:
    settled = kind("static").settled(constants)
    assert {*kind("static").asks(settled)} == {*wanted}
    (changes,) = follow("static", [look(0.0)], **constants)
    assert {knob: level for _, knob, level in changes} == wanted
