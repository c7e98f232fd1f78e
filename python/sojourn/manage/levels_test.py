"""Levels that a foreign program may ask for: those that there are, and others."""

from __future__ import annotations

import math

import pytest

from sojourn.controllers.look import Allocation, Knob, Level
from sojourn.manage.levels import changed

CPUS = 4


@pytest.mark.parametrize(
    ("knob", "level", "says"),
    [
        ("cores", 1.5, "valid integer"),
        ("cores", -1, "cores is from 0 to 4"),
        ("cores", 5, "cores is from 0 to 4"),
        ("cores", True, "valid integer"),
        ("idle", None, "valid boolean"),
        ("idle", 0.5, "valid boolean"),
        ("frozen", None, "valid boolean"),
        ("quota", 1e308, "quota is from 0"),
        ("quota", -0.1, "quota is from 0"),
        ("quota", math.nan, "quota is from 0"),
        ("quota", math.inf, "quota is from 0"),
        ("quota", 10**400, "quota is from 0"),
        ("quota", True, "valid number"),
        ("weight", 0, "greater than or equal to 1"),
        ("weight", 50.5, "valid integer"),
        ("weight", None, "valid integer"),
        ("weight", 10**400, "weight is from 0"),
        ("memory", 1e300, "memory is from 0"),
        ("io", -1, "io is from 0"),
        ("quota", "1", "valid number"),
        ("weight", "idle", "valid integer"),
        ("policy", "fifo:1", "match pattern"),
        ("policy", "nice:-5", "match pattern"),
        ("policy", "nice:20", "match pattern"),
        ("policy", "idle\n", "match pattern"),
        ("policy", "nice:\N{ARABIC-INDIC DIGIT FIVE}", "match pattern"),
        ("policy", 5, "valid string"),
        ("egress", -1.0, "egress is from 0"),
        ("frequency", "2GHz", "valid number"),
        ("ways", 0, "greater than or equal to 1"),
        ("ways", 65, "less than or equal to 64"),
        ("ways", 1.5, "valid integer"),
        ("bandwidth", 101, "less than or equal to 100"),
        ("bandwidth", 0, "greater than or equal to 1"),
    ],
)
def test_a_level_that_a_knob_does_not_have_is_refused(knob: Knob, level: Level, says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        changed(Allocation(), knob, level, CPUS)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("knob", "level"),
    [
        ("cores", 0),
        ("cores", CPUS),
        ("cores", None),
        ("quota", 1),
        ("quota", 0.001),
        ("quota", None),
        ("weight", 1),
        ("idle", True),
        ("frozen", True),
        ("memory", 4096),
        ("io", 1e6),
        ("policy", "idle"),
        ("policy", "nice:19"),
        ("policy", None),
        ("egress", 1e6),
        ("frequency", 2.4e9),
        ("ways", 11),
        ("bandwidth", 100),
        ("bandwidth", None),
    ],
)
def test_one_that_it_has_changes_nothing_else(knob: Knob, level: Level) -> None:
    before = Allocation(cores=1, quota=0.5, weight=50)
    after = changed(before, knob, level, CPUS)
    assert getattr(after, knob) == level
    others = {name for name, value in dict(before).items() if getattr(after, name) != value}
    assert others <= {knob}


def test_what_somebody_else_has_set_is_not_judged() -> None:
    before = Allocation().model_copy(update={"memory": 1 << 58})
    assert changed(before, "quota", 0.5, CPUS).memory == 1 << 58
