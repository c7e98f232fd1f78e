"""Values as JSON has them; infinite times are the text "inf"."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from json.encoder import encode_basestring
from typing import Any

_STEP = "  "  # of indentation


def plain(value: Any) -> Any:
    """The same value of what JSON knows: dataclasses and mappings become objects, sets lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def document(value: Any) -> str:
    """The value as indented JSON: `json.dumps(plain(value), indent=2, ensure_ascii=False)`.

    It is written without the objects in between, which would take many times its memory.

    >>> document({"at": (1, 2.5), "to": math.inf, "of": []}) == json.dumps(
    ...     {"at": [1, 2.5], "to": "inf", "of": []}, indent=2
    ... )
    True
    """
    return "".join(pieces(value))


def document_within(value: Any, most: int) -> str | None:
    """The same if it has at most so many characters; else None, and hardly more is made of it."""
    results, size = [], 0
    for piece in pieces(value):
        results.append(piece)
        size += len(piece)
        if size > most:
            return None
    return "".join(results)


def pieces(value: Any) -> Iterator[str]:
    """The document in pieces: one for each member, or for each element of a member's list."""
    members = _members(value)
    if not members:
        yield _text(value, "\n")
        return
    inner = f"\n{_STEP}"
    before = "{"
    for name, member in members.items():
        head = f"{before}{inner}{encode_basestring(name)}: "
        before = ","
        if not isinstance(member, list | tuple) or not member:
            yield head + _text(member, inner)
            continue
        between = "["
        for element in member:
            yield f"{head}{between}{inner}{_STEP}{_text(element, inner + _STEP)}"
            head, between = "", ","
        yield f"{inner}]"
    yield "\n}"


def _text(value: Any, margin: str) -> str:
    """A value as JSON; `margin`: what begins a line of it."""
    kind = type(value)
    if kind is float and math.isfinite(value):
        return float.__repr__(value)
    if kind is str:
        return encode_basestring(value)
    inner = margin + _STEP
    if isinstance(value, list | tuple | set | frozenset):
        texts = [_text(item, inner) for item in value]
        return f"[{inner}{f',{inner}'.join(texts)}{margin}]" if texts else "[]"
    members = _members(value)
    if members is None:
        return _scalar_text(_scalar(value))
    texts = [f"{encode_basestring(key)}: {_text(item, inner)}" for key, item in members.items()]
    return f"{{{inner}{f',{inner}'.join(texts)}{margin}}}" if texts else "{}"


def _members(value: Any) -> dict[str, Any] | None:
    """What an object has, by name; None: it is none."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    kind: Any = type(value)
    names = _names(kind)
    return None if names is None else {name: getattr(value, name) for name in names}


@functools.cache
def _names(kind: type) -> tuple[str, ...] | None:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None


def _scalar_text(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, str):
        return encode_basestring(value)
    return int.__repr__(value) if isinstance(value, int) else float.__repr__(value)
