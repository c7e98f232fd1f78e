"""Findings of which a test needs a few fields only."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def made(kind: type[T], **known: Any) -> T:
    """An object of a dataclass of which only these fields matter; the others are None."""
    names = kind.__dataclass_fields__  # type: ignore[attr-defined]
    return kind(**{**dict.fromkeys(names), **known})
