"""What a point is measured under: a frozen map from factor to level.

A factor is anything that a study varies: the load, a parameter of a service, the tracer beside it.
Its level is a scalar. Two settings are the same if their texts are, and the text has every digit of
every level: nothing that was asked for is rounded together with something else. The text is in
a point's key, for people and for the seeds; who wants to know a level asks the setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sojourn.spec.levels import Level, is_factor, level_of, level_text

__all__ = ["Level", "Setting", "is_factor", "level_of", "level_text"]

LOAD = "load"  # a share of max RPS
TWIN = "twin"  # the second of two points that are the same but for this word (A/A, M16)
WHOLE_PLOT = ("services.", "run.", "groups", "hosts.")  # of the factors that take a fresh start
RATE = "rate"  # requests/s, where the plan itself looks for the load, or the study gives it
NEIGHBOUR = "neighbour"  # who runs beside the service; "none": no one
MANAGER = "manager"  # who moves knobs beside a neighbour; "none": no one
CONNECTIONS = "connections"  # of the client; 1: one request at a time
TRACER = "tracer"  # whether it is traced, or the twin that is not
EVERY = "every request"  # level of `TRACER`: the tracer does not choose windows by itself


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Setting(Mapping[str, Level]):
    """A frozen map from factor to level, in the order of factors.

    Attributes:
        levels: (factor, level) pairs; given in any order, kept in order.
        text: canonical: equal for equal settings only.

    Raises:
        ValueError: a factor comes twice or is not a name; a level is not a scalar or not finite.

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
                raise ValueError(f"'{name}' is not a name of a factor")
        object.__setattr__(self, "levels", ordered)
        text = ",".join(f"{name}={level_text(level)}" for name, level in ordered)
        object.__setattr__(self, "text", text)

    @classmethod
    def of(cls, levels: Mapping[str, Level] | None = None, /, **more: Level) -> Setting:
        """The setting of these levels; names that are no Python names come in the map."""
        return cls(tuple({**(levels or {}), **more}.items()))

    @property
    def whole_plot(self) -> Setting:
        """The levels that take a fresh start of what is measured: keys of its own in the study."""
        return _whole_plot(self)

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


@lru_cache(maxsize=1 << 14)  # a campaign has far fewer settings than points
def _whole_plot(setting: Setting) -> Setting:
    pairs = tuple(pair for pair in setting.levels if pair[0].startswith(WHOLE_PLOT))
    return Setting(pairs) if len(pairs) < len(setting.levels) else setting
