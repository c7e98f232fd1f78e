"""Texts of several runs, as `TOOL … >> log` makes them: each run alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import islice, pairwise

from sojourn.importers.file import ALONE, fault
from sojourn.importers.series import Series

MOST = 20  # runs of one text


def each(
    text: str, at: str, head: re.Pattern[str], read: Callable[[str, str], list[Series]]
) -> list[Series]:
    """The series of every run, so that no number is of two runs.

    Args:
        text: of the file.
        at: the file, for a message.
        head: what a run begins with.
        read: text and place of one run → its series.

    Raises:
        SpecFault: there are too many runs, or one of them cannot be read.
    """
    starts = [match.start() for match in islice(head.finditer(text), 1, MOST + 1)]
    if not starts:
        return read(text, at)
    if len(starts) == MOST:
        raise fault(f"it has the text of more than {MOST} runs", at, ALONE)
    return [
        replace(one, name=f"run {number} {one.name}".rstrip())
        for number, (start, end) in enumerate(pairwise([0, *starts, len(text)]), 1)
        for one in read(text[start:end], f"{at}: run {number}")
    ]
