"""Parameters of services: described once, checked once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sojourn.errors import SpecFault
from sojourn.kinds import meant

Value: TypeAlias = str | int | float | bool
RELATIVE = r"cpus([+-]\d+)?"  # as `spec.kinds` has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One parameter of a kind.

    Attributes:
        default: None: settled for the machine; `about` says how.
        lo, hi: inclusive range of a number.
        relative: a whole number that may be told by the server's CPUs: "cpus", "cpus+1", "cpus-1".
        pattern: regular expression that a text must match as a whole; "": any text.
        allowed: what the pattern takes, in words.
    """

    name: str
    about: str
    default: Value | None
    unit: str = ""
    type: type[int] | type[float] | type[bool] | type[str] = int
    lo: float | None = None
    hi: float | None = None
    choices: tuple[str, ...] = ()
    relative: bool = False
    pattern: str = ""
    allowed: str = ""

    @property
    def range(self) -> str:
        """The range in words, for help."""
        if self.allowed:
            return self.allowed
        if self.choices:
            return " | ".join(self.choices)
        if self.type is bool:
            return "true | false"
        if self.lo is None and self.hi is None:
            return ""
        return "..".join("" if bound is None else str(bound) for bound in (self.lo, self.hi))


def settle(
    kind: str, params: tuple[Param, ...], inputs: Mapping[str, Value], *, cpus: int = 1
) -> dict[str, Value | None]:
    """Check what was given and fill in defaults.

    Args:
        kind: whose they are, for messages.
        params: that there are.
        inputs: by name.
        cpus: of the server, on which relative numbers depend.

    Raises:
        SpecFault: an unknown name, a wrong type, or a value out of range.
    """
    known = {param.name: param for param in params}
    for name in inputs:
        if name not in known:
            raise SpecFault(
                f"{kind} has no parameter {name}",
                at=f"service {kind}, {name}",
                fix=meant(name, known) or f"it has {', '.join(known) or 'none'}",
            )
    return {name: _value(kind, param, inputs.get(name), cpus) for name, param in known.items()}


def of_cpus(text: str, cpus: int) -> int | None:
    """The number that a text tells by the CPUs of the server; None if it tells none.

    >>> [of_cpus(text, 4) for text in ("cpus", "cpus+1", "cpus-2", "four")]
    [4, 5, 2, None]
    """
    match = re.fullmatch(RELATIVE, text)
    return cpus + int(match.group(1) or 0) if match else None


def _value(kind: str, param: Param, value: Value | None, cpus: int) -> Value | None:
    if value is None:
        return param.default
    at = f"service {kind}, {param.name} = {value!r}"
    if param.relative and isinstance(value, str) and (number := of_cpus(value, cpus)) is not None:
        value = number
    if param.type is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not param.type:
        raise SpecFault(
            f"{param.name} must be {_article(param.type)}, not {_article(type(value))}",
            at=at,
            fix=f"{param.about}; {param.range}" if param.range else param.about,
        )
    # Asked this way round, because NaN is neither below a bound nor above it.
    is_low = param.lo is not None and not isinstance(value, str) and not value >= param.lo
    is_high = param.hi is not None and not isinstance(value, str) and not value <= param.hi
    is_odd = param.pattern and not re.fullmatch(param.pattern, str(value))
    if is_low or is_high or is_odd or (param.choices and value not in param.choices):
        raise SpecFault(
            f"{param.name} is {value}, outside {param.range}",
            at=at,
            fix=_choice(param, value)
            or f"give {param.range}{' ' + param.unit if param.unit else ''}",
        )
    return value


def _choice(param: Param, value: Value) -> str:
    """Which of a parameter's choices was meant; "" if none is like it, or it has none."""
    return meant(str(value), param.choices)


def _article(kind: type) -> str:
    return {int: "a whole number", float: "a number", bool: "true or false", str: "text"}[kind]
