"""A point to be read back in tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sojourn import spec
from sojourn.plan import Point, next_point
from sojourn.plan.points import UNSTATED
from sojourn.testing_questions import PLANS


def stated(point: Point, **changes: Any) -> Point:
    """Another point, with the rules of its phase."""
    return PLANS.stated(replace(point, rules=UNSTATED, **changes))


def first_point() -> Point:
    """Of a study, before anything was measured."""
    result = next_point(spec.load("max_load_memcached"), [], PLANS)
    assert result is not None  # noqa: S101 - the study has points
    return result
