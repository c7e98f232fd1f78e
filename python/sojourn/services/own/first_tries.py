"""First requests that a server cuts off are made again.

So one reset refuses no service. How many were cut off is a fact about the service. It is said
before the load, because under load there will be more.
"""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
TRIES = 3  # of one request
CUT = "first requests"  # the fact's name


def is_cut(error: Exception) -> bool:
    """Whether a connection that was taken ended before its reply."""
    if isinstance(error, ConnectionRefusedError):
        return False  # nothing listens any more
    return isinstance(error, ConnectionError | ssl.SSLEOFError | http.client.IncompleteRead)


@dataclass(slots=True)
class Tries:
    """What became of the first requests.

    Attributes:
        made: requests so far.
        cut: of those, how many had no reply because the connection ended.
        row: of the last request, how many tries in a row were cut off.
        why: of the first one that was cut off.
    """

    made: int = 0
    cut: int = 0
    row: int = 0
    why: str = ""

    def again(self, ask: Callable[[], T]) -> T:
        """The reply of one request, which is made again where the server cuts it off.

        Raises:
            Exception: as `ask` has it; cut off, the last try's.
        """
        self.row = 0
        while True:
            self.made += 1
            try:
                return ask()
            except Exception as error:
                if not is_cut(error):
                    raise
                self._note(str(error) or type(error).__name__)
                if self.row == TRIES:
                    raise

    def heard(self, say: Callable[[], bytes]) -> bytes:
        """What is heard, which is asked again where it is nothing; b"" if it stays silent."""
        self.row = 0
        while self.row < TRIES:
            self.made += 1
            if heard := say():
                return heard
            self._note("no answer")
        return b""

    def _note(self, why: str) -> None:
        self.cut += 1
        self.row += 1
        self.why = self.why or why

    @property
    def in_a_row(self) -> str:
        """For a fault: that it was tried several times; "" if it was not."""
        return f", {self.row} times in a row" if self.row > 1 else ""

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """How many were cut off; () if none was."""
        if not self.cut:
            return ()
        verb = "was" if self.cut == 1 else "were"
        return ((CUT, f"{self.cut} of {self.made} {verb} cut off ({self.why})"),)
