"""Names of factors, and levels with their texts: what a study varies, letter by letter.

A level is a scalar. Its text has every digit and says its type: `2` is a number, `"2"` a word.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable

Level = bool | int | float | str

# Words of a setting that are no keys of a study, and how they are varied.
LOAD_WORDS = {
    "load": "every sweep varies the load: load = [0.3, 0.7] sets run.fractions",
    "rate": 'loads in requests/s: rate = ["10k", "20k"] sets run.rates',
}
_FACTOR = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_PLAIN = re.compile(r"(?!(?:true|false)$)[A-Za-z_][A-Za-z0-9_.:+-]*")  # needs no quotes
_PARTS = re.compile(r'((?:"(?:[^"\\]|\\.)*"|[^,"])*),')


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


def levels_of(text: str) -> tuple[Level, ...]:
    """The levels in a list as people type it, split at commas outside quotes.

    What is the text of no level is a word: `64m` is meant as written.

    Raises:
        ValueError: one of them is empty, or is not a scalar.

    >>> levels_of('1,2'), levels_of('none,spin,stream:1'), levels_of('64m,"a,b"')
    ((1, 2), ('none', 'spin', 'stream:1'), ('64m', 'a,b'))
    """
    parts = _PARTS.findall(f"{text},")
    if ",".join(parts) != text:
        raise ValueError("a quote is left open")
    return tuple(_typed(part.strip()) for part in parts)


def _typed(text: str) -> Level:
    if not text:
        raise ValueError("a level is empty")
    try:
        level = level_of(text)
    except ValueError:
        return text
    if not isinstance(level, Level):
        raise ValueError(f"{text} is not a scalar")  # noqa: TRY004 - of a text that people typed
    return level


def short(key: str) -> str:
    """The last part of a key, which is what people call the factor.

    >>> short("services.memcached.params.threads"), short("neighbour")
    ('threads', 'neighbour')
    """
    return key.rpartition(".")[2]


def names(keys: Iterable[str]) -> dict[str, str]:
    """What people call each of several factors: as much of the key's end as tells them apart.

    >>> names(["services.a.params.threads", "services.b.params.threads", "neighbour"])
    {'services.a.params.threads': 'a.params.threads', \
'services.b.params.threads': 'b.params.threads', 'neighbour': 'neighbour'}
    """
    known = list(keys)
    return {
        key: next(n for n in _ends(key) if sum(n in _ends(k) for k in known) == 1 or n == key)
        for key in known
    }


def _ends(key: str) -> list[str]:
    """The ends of a key at its dots, the shortest first."""
    parts = key.split(".")
    return [".".join(parts[-n:]) for n in range(1, len(parts) + 1)]
