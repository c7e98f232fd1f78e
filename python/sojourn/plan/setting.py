"""What a point is measured under: a frozen map from factor to level.

A factor is anything that a study varies: the load, a parameter of a service, the tracer beside it.
Its level is a scalar. Two settings are the same if their texts are, and the text has every digit of
every level: nothing that was asked for is rounded together with something else. The text stands in
a point's key, for people and for the seeds; who wants to know a level asks the setting.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Level = bool | int | float | str

LOAD = "load"  # a share of max RPS
RATE = "rate"  # requests/s, where the plan itself looks for the load
NEIGHBOUR = "neighbour"  # who runs beside the service; "none": nobody
CONNECTIONS = "connections"  # of the client; 1: one request at a time
TRACER = "tracer"  # whether it is traced, or the twin that is not
_FACTOR = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_PLAIN = re.compile(r"(?!(?:true|false)$)[A-Za-z_][A-Za-z0-9_.:+-]*")  # needs no quotes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Setting(Mapping[str, Level]):
    """A frozen map from factor to level, in the order of factors.

    Attributes:
        levels: (factor, level) pairs; given in any order, kept in order.
        text: canonical: equal for equal settings only.

    Raises:
        ValueError: a factor comes twice or is no name; a level is no scalar, or no finite number.

    >>> Setting.of(tracer=True, load=0.125).text
    'load=0.125,tracer=true'
    >>> Setting.of(load=1) == Setting.of(load=1.0), Setting.of(load=1) == Setting.of(load="1")
    (True, False)
    """

    levels: tuple[tuple[str, Level], ...] = ()
    text: str = field(init=False, default="")

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.levels, key=lambda pair: pair[0]))
        names = [name for name, _ in ordered]
        if len(set(names)) < len(names):
            raise ValueError(f"a factor comes twice: {', '.join(names)}")
        for name in names:
            if not is_factor(name):
                raise ValueError(f"'{name}' is no name of a factor")
        object.__setattr__(self, "levels", ordered)
        text = ",".join(f"{name}={level_text(level)}" for name, level in ordered)
        object.__setattr__(self, "text", text)

    @classmethod
    def of(cls, levels: Mapping[str, Level] | None = None, /, **more: Level) -> Setting:
        """The setting of these levels; names that are no Python names come in the map."""
        return cls(tuple({**(levels or {}), **more}.items()))

    def __getitem__(self, factor: str) -> Level:
        for name, level in self.levels:
            if name == factor:
                return level
        raise KeyError(factor)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.levels)

    def __len__(self) -> int:
        return len(self.levels)

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Setting) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Setting({self.text})"


def is_factor(name: str) -> bool:
    """Whether a factor may have this name: letters, digits and `_.-`, a letter first."""
    return bool(_FACTOR.fullmatch(name))


def level_text(level: Level) -> str:
    """A level with all its digits; `level_of` reads it.

    >>> [level_text(level) for level in (0.7, 2, 2.0, True, "cfs", "true", "2")]
    ['0.7', '2', '2', 'true', 'cfs', '"true"', '"2"']
    """
    if isinstance(level, bool):
        return "true" if level else "false"
    if isinstance(level, int):
        return str(level)
    if isinstance(level, float):
        if not math.isfinite(level):
            raise ValueError(f"a level is a finite number, not {level}")
        return str(int(level)) if level.is_integer() else repr(level)
    if isinstance(level, str):
        return level if _PLAIN.fullmatch(level) else json.dumps(level)
    raise ValueError(f"a level is a number, a text or true or false, not {level!r}")


def level_of(text: str) -> Level:
    """The level whose text this is; ValueError if it is that of none.

    >>> [level_of(text) for text in ('0.7', '2', 'true', 'cfs', '"true"')]
    [0.7, 2, True, 'cfs', 'true']
    """
    if text in {"true", "false"}:
        return text == "true"
    if _PLAIN.fullmatch(text):
        return text
    level: int | float | str = json.loads(text)
    return level
