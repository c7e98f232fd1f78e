"""What a rule takes of a configuration, and what it refuses."""

from __future__ import annotations

import math

import pytest

from sojourn.controllers import kind
from sojourn.errors import SpecFault


@pytest.mark.parametrize(
    ("rule", "constants", "fix"),
    [
        ("posterior", {"late": -1.0}, "of 0 or more; the published one is 0.0065"),
        ("parties", {"votes": math.nan}, "of 0 or more; the published one is 5"),
        ("be-controller", {"slack_off": -math.inf}, "write a number; the published one is -0.05"),
    ],
)
def test_a_constant_that_no_rule_can_have_is_refused(
    rule: str, constants: dict[str, float], fix: str
) -> None:
    with pytest.raises(SpecFault, match="is no value of the constant") as refused:
        kind(rule).settled(constants)
    assert fix in refused.value.fix
    assert kind("be-controller").settled({"slack_off": -0.5})["slack_off"] == -0.5
    assert kind("static").settled({"cores": -1.0, "quota": 0.0})["cores"] == -1.0
