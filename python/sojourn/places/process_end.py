"""How a program ended, and the last words that it left in its log."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn.places import server_files
from sojourn.places.hidden import NOTHING, Hidden

LAST_WORDS_BYTES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended.

    Attributes:
        status: exit status; negative: the signal that killed it.
        cpu_s: CPU time of it and the children it waited for, s.
        is_clean: whether nothing of its session is left.
        message: how it ended, where a status does not say it.
    """

    status: int
    cpu_s: float
    rss_kb_max: int
    is_clean: bool
    message: str = ""

    @property
    def text(self) -> str:
        """How it ended, in words: its status or its signal."""
        if self.message:
            return self.message
        if self.status >= 0:
            return f"ended with exit status {self.status}"
        return f"was killed by {signal_name(-self.status)}"


def signal_name(number: int) -> str:
    """A signal's name by its number: `SIGKILL` for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def ended_by(words: Mapping[str, object]) -> Ended:
    """How a program ended, by what its warden wrote."""
    return Ended(
        status=int(str(words["status"])),
        cpu_s=float(str(words.get("cpu_s", 0.0))),
        rss_kb_max=int(str(words.get("rss_kb_max", 0))),
        is_clean=bool(words["is_clean"]),
    )


def last_words(log: Path, *, lines: int = 4, hidden: Hidden = NOTHING) -> str:
    """The end of a log without what is hidden, for an error message; "" if it is empty."""
    most = LAST_WORDS_BYTES + hidden.spare
    try:
        with os.fdopen(server_files.opened(log, os.O_RDONLY), "rb") as file:
            file.seek(0, os.SEEK_END)
            begin = max(0, file.tell() - most)
            file.seek(begin)
            raw = hidden.without(file.read(most))  # it may grow meanwhile
    except OSError:
        return ""
    text = raw[hidden.spare if begin else 0 :].decode("utf-8", "replace")
    return " | ".join(line.strip() for line in text.splitlines()[-lines:] if line.strip())
