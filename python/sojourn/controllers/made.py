"""Parts of a look that this program has counted: made without a check of fields.

The check is for what others wrote. A manager makes some thirty parts at each look, ten times a
second, and to check them took a tenth of its CPU time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

from sojourn.controllers.look import Part, Signal

P = TypeVar("P", bound=Part)
_put = object.__setattr__  # the parts are frozen
_OF_SIGNAL = set(Signal.model_fields)  # whoever copies a part copies this first


def made(kind: type[P], **fields: Any) -> P:
    """One part, as `kind` itself makes it of fields that are right.

    >>> from sojourn.controllers.look import Signal
    >>> made(Signal, value=1.5) == Signal(value=1.5), made(Signal, value=1.5).model_dump()
    (True, {'value': 1.5, 'age_ms': 0.0})
    """
    return _of(kind, {**_usual(kind), **fields}, set(fields))


def signal(value: float, age_ms: float = 0.0) -> Signal:
    """One signal; most parts of a look are signals.

    >>> signal(1.5, 2.0) == Signal(value=1.5, age_ms=2.0)
    True
    """
    return _of(Signal, {"value": value, "age_ms": age_ms}, _OF_SIGNAL)


def _of(kind: type[P], fields: dict[str, Any], names: set[str]) -> P:
    one = kind.__new__(kind)
    _put(one, "__dict__", fields)
    _put(one, "__pydantic_fields_set__", names)
    _put(one, "__pydantic_extra__", None)
    _put(one, "__pydantic_private__", None)
    return one


@lru_cache(16)
def _usual(kind: type[Part]) -> dict[str, Any]:
    """Each field with its default, in order; those without one have None until they are set.

    All parts share the defaults, which nothing changes.
    """
    return {
        name: None if field.is_required() else field.get_default(call_default_factory=True)
        for name, field in kind.model_fields.items()
    }
