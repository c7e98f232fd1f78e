"""Which line of a TOML file holds a key: `tomllib` reads values and forgets where they stood.

A scan for table headers and for keys at the start of a line; enough to point at a mistake. Values
that span lines are attributed to the line of their key; text inside multi-line strings that looks
like a key could be taken for one, which at worst points to a wrong line of the right file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Key = tuple[str | int, ...]

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"))*)\s*=""")
_PART = re.compile(r"""\s*(?:"[^"]*"|'[^']*'|[^."']+)""")


def line_of(text: str, key: Sequence[str | int]) -> int:
    r"""Line (from 1) of `key`, or of its nearest ancestor that is in the file.

    >>> line_of("a = 1\n[b]\nc = 2\n", ("b", "c"))
    3
    >>> line_of("[[s]]\nx = 1\n[[s]]\nx = 2\n[s.q]\ny = 3\n", ("s", 1, "q", "y"))
    6
    """
    lines = {_flat(known): number for known, number in reversed(_lines(text).items())}
    path = tuple(key)
    while path and _flat(path) not in lines:
        path = path[:-1]
    return lines.get(_flat(path), 1)


def line_by_label(text: str, dotted: str, labels: Sequence[str]) -> int | None:
    """Line of a key that goes by its service's label; None: nothing of it is in the file.

    Where a study varies the key, that is where its levels are.

    Args:
        text: of the study.
        dotted: `services.LABEL.…`.
        labels: of the study's services, in order.
    """
    lines = {_flat(known): number for known, number in _lines(text).items()}
    if factor := lines.get(_flat(("factors", dotted))):
        return factor
    table, *more = dotted.split(".")
    if table != "services" or len(more) < 2 or more[0] not in labels:
        return None  # such as "service command, environment"
    label, *rest = more
    path: Key = (table, labels.index(label), *rest)
    while len(path) > 2:  # the whole service is not where one of its keys is missing
        if line := lines.get(_flat(path)):
            return line
        path = path[:-1]
    return None


def _flat(key: Key) -> str:
    """One text for a key however its dots are written: a quoted key may have some."""
    return ".".join(map(str, key))


def _lines(text: str) -> dict[Key, int]:
    numbers: dict[Key, int] = {}
    arrays: dict[Key, int] = {}  # last index of each [[array]]
    table: Key = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            names = _split(header[2])
            if header[1] == "[[":
                parent = _indexed(names[:-1], arrays)
                array = (*parent, names[-1])
                arrays[array] = arrays.get(array, -1) + 1
                numbers.setdefault(array, number)
            table = _indexed(names, arrays)
            numbers.setdefault(table, number)
        elif key := _KEY.match(line):
            numbers.setdefault((*table, *_split(key[1])), number)
    return numbers


def _split(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in _PART.findall(dotted))


def _indexed(names: Sequence[str], arrays: dict[Key, int]) -> Key:
    """`services.qos` → `("services", 1, "qos")`: a name of an array means its last element."""
    path: Key = ()
    for name in names:
        path = (*path, name)
        if path in arrays:
            path = (*path, arrays[path])
    return path
