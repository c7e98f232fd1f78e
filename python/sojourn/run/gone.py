"""Faults of a record that is thrown away: they name none of its files, which are gone by then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sojourn.errors import Fault

GONE = "a file that is gone"


@contextmanager
def without_files_of(folder: Path | None) -> Iterator[None]:
    """Let no fault name a file below `folder`, nor advise to resume there; None: all may."""
    try:
        yield
    except Fault as fault:
        if folder is not None:
            fault.what, fault.at, fault.fix = (
                without(text, folder) for text in (fault.what, fault.at, fault.fix)
            )
        raise


def without(text: str, folder: Path) -> str:
    """A part of a fault without the names of files below a folder, where nothing can resume.

    >>> without("target (/tmp/x/load.job.json)", Path("/tmp/x"))
    'target'
    >>> without("see /tmp/x/load.log: it is empty", Path("/tmp/x"))
    'its log: it is empty'
    >>> without("see /tmp/x/load.log; is the disk full?", Path("/tmp/x"))
    'is the disk full?'
    >>> without("start it again, then run the study again: it resumes", Path("/tmp/x"))
    'start it again, then run the same command again'
    """
    name = re.escape(str(folder)) + r"(?:/[^\s:;,)]*)?"
    text = re.sub(rf"\s*\({name}\)", "", text)
    text = re.sub(rf"see {name}: ", "its log: ", text)
    text = re.sub(r"run the study again: it resumes.*", "run the same command again", text)
    text = re.sub(rf"see {name}; ", "", text)
    return "" if re.fullmatch(name, text) else re.sub(name, GONE, text)
