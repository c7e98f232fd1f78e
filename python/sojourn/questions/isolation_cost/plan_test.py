"""How long points take of which mechanisms are applied."""

from __future__ import annotations

import pytest

from sojourn import spec
from sojourn.plan import rehearse
from sojourn.questions import PLANS
from sojourn.questions.isolation_cost.plan import RESTARTS_S


def test_what_is_applied_before_the_load_takes_its_time_too() -> None:
    """Idle and busy host: every mechanism before the load; under load the turns end with it."""
    few = rehearse(
        spec.load("isolation_cost", profile="quick", overrides=["run.restarts=1"]), PLANS
    )
    many = rehearse(
        spec.load("isolation_cost", profile="quick", overrides=["run.restarts=8"]), PLANS
    )
    assert len(few.points) == len(many.points)
    assert many.wall_s - few.wall_s == pytest.approx(2 * 7 * RESTARTS_S)
