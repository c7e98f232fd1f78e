"""Validation errors of pydantic → a `SpecFault` each that says what, where and how to fix it."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from sojourn.errors import SpecFault
from sojourn.spec import form
from sojourn.spec.where import line_of
from sojourn.text.near import near

Key = tuple[str | int, ...]
Mistake = tuple[Key, str, str]  # key, what, fix

_WANTED = {
    "int_type": "a whole number without quotes",
    "float_type": "a number without quotes",
    "string_type": 'text in quotes, such as "memcached"',
    "bool_type": "true or false",
    "tuple_type": "a list, such as [0.1, 0.5]",
    "model_type": "a table of keys",
    "model_attributes_type": "a table of keys",
    "mapping_type": "a table of keys",
    "dict_type": "a table of keys",
}
_SCALAR = "a number, text in quotes, or true or false"


def dotted(key: Sequence[str | int]) -> str:
    """`("services", 0, "qos")` → `services[0].qos`."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def mistakes(error: ValidationError, table: Mapping[str, Any]) -> Iterator[Mistake]:
    """One mistake for each key of the file; what each branch of a union says is one of them."""
    details: dict[Key, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        details.setdefault(_key(detail, table), []).append(detail)
    for key, every in details.items():
        if {"bool_type", "string_type"} <= {detail["type"] for detail in every}:
            what = f"{dotted(key)} is {_shown(every[0]['input'])}, not {_SCALAR}"
            yield key, what, f"write {_SCALAR}"
        else:
            yield (key, *_explain(every[0], table))


def together(spec_faults: Sequence[SpecFault]) -> SpecFault:
    """The first of several mistakes, which says how many more there are and holds them all."""
    first, more = spec_faults[0], len(spec_faults) - 1
    if not more:
        return first
    what = f"{first.what} (and {more} more mistake{'s' if more > 1 else ''}; see sojourn check)"
    whole = SpecFault(what, at=first.at, fix=first.fix)
    whole.each = tuple(spec_faults)
    return whole


def place(
    key: Sequence[str | int], text: str, path: Path, origin: Mapping[Key, str] | None = None
) -> str:
    """`studies/x.toml:14  run.repeats`, or the option that put the value there."""
    for depth in range(len(key), 0, -1):
        if origin and tuple(key[:depth]) in origin:
            return origin[tuple(key[:depth])]
    return f"{path}:{line_of(text, key)}  {dotted(key)}".rstrip()


def _explain(detail: ErrorDetails, table: Mapping[str, Any]) -> tuple[str, str]:
    key = _key(detail, table)
    name = dotted(key) or "the study"
    inputs, limits = detail["input"], detail.get("ctx", {})
    kind = detail["type"]
    if kind == "extra_forbidden":
        known = _keys_of(key[:-1])
        meant = near(str(key[-1]), known)
        hint = f"did you mean {' or '.join(meant)}?" if meant else f"known: {', '.join(known)}"
        return f"there is no key '{key[-1]}' here", hint
    if kind == "missing":
        return f"{name} is missing", f"add {key[-1]} = … to this table"
    if kind == "value_error":
        text = str(limits.get("error", detail["msg"]))
        what, _, fix = text.partition("; ")
        return f"{name}: {what}", fix or "correct the value"
    if kind in _WANTED:
        return f"{name} is {_shown(inputs)}, not {_WANTED[kind]}", f"write {_WANTED[kind]}"
    return _off_limits(name, detail)


def _off_limits(name: str, detail: ErrorDetails) -> tuple[str, str]:
    """A value of the right type that is too low, too high, or not one of a few."""
    inputs = _shown(detail["input"])
    if name.endswith((".q", ".at_fraction")) and detail["type"] in _BOUNDED:
        return f"{name} is {inputs}, not between 0 and 1", "p99 is 0.99; half is 0.5"
    if detail["type"] == "string_pattern_mismatch":
        form = "small letters, digits, - and _, a letter or digit first"
        return f"{name} is {inputs}, but may only hold {form}", f"give {form}"
    limits = {k: v for k, v in detail.get("ctx", {}).items() if k in _BOUNDS}
    if limits:
        bounds = " and ".join(f"{_BOUNDS[k]} {_number(v)}" for k, v in limits.items())
        return f"{name} is {inputs}, but must be {bounds}", f"give a value {bounds}"
    text = detail["msg"].removeprefix("Input should ").removeprefix("be ")
    return f"{name} is {inputs}, but should be {text}", f"give {text}"


_BOUNDED = {"greater_than", "less_than"}
_BOUNDS = {
    "gt": "above",
    "ge": "at least",
    "lt": "below",
    "le": "at most",
    "min_length": "of length at least",
}


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shown(value: object) -> str:
    match value:
        case str():
            return f"'{value}'"
        case bool():
            return str(value).lower()
        case Mapping():
            return "a table"
        case list() | tuple():
            return "a list"
        case _:
            return str(value)


def _key(detail: ErrorDetails, table: Mapping[str, Any]) -> Key:
    """Where a mistake stands; what is wrong between keys may say itself which of them it is."""
    within = getattr(detail.get("ctx", {}).get("error"), "key", ())
    may_lack = detail["type"] not in _WANTED  # of a type is only what is there
    return _in_table((*detail["loc"], *within), table, may_lack=may_lack)


def _in_table(location: Sequence[str | int], table: Mapping[str, Any], *, may_lack: bool) -> Key:
    """The part of pydantic's location that the file has: union branches are left out.

    With `may_lack` the last part may be a key that is missing there.
    """
    key: list[str | int] = []
    node: Any = table
    for depth, part in enumerate(location):
        if isinstance(node, Mapping) and (
            part in node or (may_lack and depth == len(location) - 1)
        ):
            key.append(part)
            node = node.get(part)
        elif isinstance(node, list | tuple) and isinstance(part, int) and part < len(node):
            key.append(part)
            node = node[part]
    return tuple(key)


def _keys_of(key: Sequence[str | int]) -> list[str]:
    """The keys that the table at `key` may have."""
    model: type[BaseModel] | None = form.current().study
    for part in key:
        if isinstance(part, int) or model is None:
            continue
        field = next((f for n, f in model.model_fields.items() if part in (f.alias or n, n)), None)
        model = _model_in(field.annotation) if field else None
    if model is None:
        return []
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, tuple, typing.Annotated):
        results = (_model_in(argument) for argument in typing.get_args(annotation))
        return next((model for model in results if model), None)
    return None
