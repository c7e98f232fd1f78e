"""What the first screen shows: one sentence or three, the question's own picture, a table.

Page and terminal ask the kinds in the order of their table; the first that applies opens. Numbers
below the first screen are those of sections and figures, as ever.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sojourn.analysis.findings import Findings
from sojourn.report.draw.table import Table

HEADLINE_MAX = 59  # characters
SENTENCES_MAX = 3
WORDS_MAX = 25  # of a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What the first screen shows: the question's own picture and what it says.

    Attributes:
        headline: in fewer than 60 characters; also the page's title.
        sentences: at most 3, each of at most 25 words.
        figures: names of the study's or a service's figures that come first on the page.
        text: the same picture or table for the terminal, lines of at most `width` columns.
        table: for the page, below the figures; its cells are words. None: the figures say it all.
        caption: of the table.
        has_tiles: a tile for each service stands before the figures, not folded below them.
    """

    headline: str
    sentences: tuple[str, ...]
    figures: tuple[str, ...]
    text: tuple[str, ...]
    table: Table | None = None
    caption: str = ""
    has_tiles: bool = False


class Opens(ABC):
    """A kind of opening, of one question or of several that are drawn alike."""

    name: ClassVar[str]

    @abstractmethod
    def applies(self, findings: Findings) -> bool:
        """Whether the study asked this, and enough is known to be drawn."""

    @abstractmethod
    def opening(self, findings: Findings, width: int) -> Opening:
        """The first screen.

        Args:
            findings: of a study to which it applies.
            width: columns of the terminal, at least 60.
        """


def fitting(*forms: str) -> str:
    """The first of several headlines that is short enough, the longest first; else the last, cut.

    >>> fitting("a" * 80, "short enough")
    'short enough'
    """
    return next((form for form in forms if 0 < len(form) <= HEADLINE_MAX), forms[-1][:HEADLINE_MAX])


def columns(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Rows of cells as lines, each column as wide as its widest cell; the last goes on below.

    >>> list(columns([("load", "tail"), ("10 %", "1 ms")], 60))
    ['load  tail', '10 %  1 ms']
    """
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(size) for cell, size in zip(row, wide, strict=True))
        yield "  ".join(cells).rstrip()[:width]
