"""`mutilate --save FILE`: send, s, and time, µs, of each read."""

from __future__ import annotations

import re

from sojourn.importers.file import File, fault, number, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.mutilate import FACTS
from sojourn.importers.requests import Requests
from sojourn.importers.series import Series

_US = 1e3
_LINE = re.compile(r"\d+\.\d{6} \d+\.\d{6}")
_NOTE = "Updates are not in the file."


def is_it(head: str) -> bool:
    """Whether the first line is one of mutilate's."""
    return bool(_LINE.fullmatch(head.partition("\n")[0].strip()))


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are µs
    """One series of all reads."""
    requests = Requests()
    for at, line in file.rows():
        start, _, time = line.partition(" ")
        if not time:
            raise fault("this line has no send and time", at, "the file may be cut short")
        ns = time_ns(time, "time", at, unit_ns=_US)
        requests.add(number(start, "send", at), ns, at)
    return [requests.series(FACTS, at=file.at, is_failed_known=False, notes=(_NOTE,))]


FORMAT = Format(name="mutilate-save", about="mutilate --save FILE", is_it=is_it, read=read)
