"""`Point` ↔ JSON, as it is written in `point.json` beside every measurement and in the store."""

from __future__ import annotations

import json
from collections.abc import ItemsView, Mapping
from dataclasses import asdict, fields
from typing import Any

from sojourn.plan import older
from sojourn.plan.points import UNSTATED, Phase, Point, Rules

# Version 2: a point has a setting; its key, which had to be taken apart before, says no more.
FORM, MAJOR, OLDEST = "sojourn.point", 2, 1
SCHEMA = f"{FORM}/{MAJOR}"
_FIELDS = frozenset(field.name for field in fields(Point))
_RULES = frozenset(field.name for field in fields(Rules))


def to_json(point: Point) -> dict[str, Any]:
    """The point as plain JSON values, with the version of this form."""
    table = asdict(point)
    return {
        "schema": SCHEMA,
        **table,
        "setting": dict(point.setting),
        "overrides": dict(point.overrides),
        "beside": [to_json(other) for other in point.beside],
        "rules": rules_json(point.rules),
    }


def rules_json(rules: Rules) -> dict[str, Any]:
    """Rules as plain JSON values: those that are not the usual ones; {} where none are stated."""
    if not rules.is_stated:
        return {}
    return {"is_stated": True} | {
        one.name: getattr(rules, one.name)
        for one in fields(Rules)
        if getattr(rules, one.name) != one.default
    }


def rules_of(table: Mapping[str, Any]) -> Rules:
    """The rules that `rules_json` wrote, without keys of a later version; TypeError: it did not."""
    known = {key: value for key, value in _pairs(table, "rules") if key in _RULES}
    if known.get("neighbours") is not None:
        known["neighbours"] = tuple(known["neighbours"])
    return Rules(**known) if known else UNSTATED


def dumps(point: Point) -> str:
    """A point as the text of `point.json`."""
    return json.dumps(to_json(point), indent=2) + "\n"


def from_json(table: Mapping[str, Any]) -> Point:
    """The point that `to_json` wrote; KeyError, TypeError or ValueError if it is none."""
    inputs = {key: value for key, value in _pairs(table, "a point") if key in _FIELDS}
    inputs["phase"] = phase = Phase(inputs["phase"])
    inputs["overrides"] = tuple(dict(inputs["overrides"]).items())
    inputs["rules"] = rules_of(inputs.get("rules") or {})
    inputs["beside"] = tuple(from_json(other) for other in inputs.get("beside", ()))
    if "setting" in inputs:
        inputs["setting"] = older.renamed(dict(inputs["setting"]))
    else:
        of = (str(inputs["key"]), phase, inputs.get("fraction"), inputs["offered_rps"])
        inputs["setting"] = older.setting_of(*of)
    return Point(**inputs)


def _pairs(table: object, what: str) -> ItemsView[str, Any]:
    """What is in a table; TypeError if it is none, as where a stranger changed the file."""
    if not isinstance(table, Mapping):
        raise TypeError(f"{what}: {type(table).__name__} in place of a table")
    return table.items()
