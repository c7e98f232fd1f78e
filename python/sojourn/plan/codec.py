"""`Point` ↔ JSON, as it stands in `point.json` beside every measurement and in the store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sojourn.plan.points import Phase, Point

SCHEMA = "sojourn.point/1"


def to_json(point: Point) -> dict[str, Any]:
    """The point as plain JSON values, with the version of this form."""
    table = asdict(point)
    return {"schema": SCHEMA, **table, "overrides": dict(point.overrides)}


def dumps(point: Point) -> str:
    """A point as the text of `point.json`."""
    return json.dumps(to_json(point), indent=2) + "\n"


def from_json(table: Mapping[str, Any]) -> Point:
    """The point that `to_json` wrote; KeyError, TypeError or ValueError if it is none."""
    fields = {key: value for key, value in table.items() if key != "schema"}
    fields["phase"] = Phase(fields["phase"])
    fields["overrides"] = tuple(dict(fields["overrides"]).items())
    return Point(**fields)
