"""What the first screen shows: one sentence or three, the question's own picture, a table.

Page and terminal ask the kinds in the order of their table; the first that applies opens. Numbers
below the first screen are those of sections and figures, as ever.
"""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar

from sojourn.findings.findings import Findings
from sojourn.report import show
from sojourn.report.draw.table import Table

HEADLINE_MAX = 59  # characters
SENTENCES_MAX = 3
WORDS_MAX = 25  # of a sentence
COUNTED = ("square wave", "CPU hog", "CPU loop", "L1 ", "L2 ", "last-level", "memory copy")
MIN = 8  # columns that a cell of a table of text may be narrowed to
TITLE_LINES = 2


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
        has_tiles: a tile for each service is before the figures, not folded below them.
    """

    headline: str
    sentences: tuple[str, ...]
    figures: tuple[str, ...]
    text: tuple[str, ...]
    table: Table | None = None
    caption: str = ""
    has_tiles: bool = False


class Opens(ABC):
    """A kind of opening, of one question or of several that are drawn alike.

    Attributes:
        name: of it.
        place: in the order of priority, ascending.
    """

    name: ClassVar[str]
    place: ClassVar[int]

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


def words(text: str) -> int:
    """How many words a sentence has; a number and its unit are one.

    >>> words("up to 60 % load"), words("it keeps 81 of 99")
    (4, 5)
    """
    return len(show.fixed(text).split(" "))


def short(*forms: str) -> str:
    """The first of several sentences that has no more words than one may; else the last.

    >>> short("so " * 30 + "it is.", "It is so.")
    'It is so.'
    """
    return next((form for form in forms if words(form) <= WORDS_MAX), forms[-1])


def capital(text: str) -> str:
    """The same with a capital at its beginning, and the rest as it was."""
    return text[:1].upper() + text[1:]


def an(noun: str) -> str:
    """A thing with its article, as far as it is counted.

    >>> an("square wave"), an("CPU hog at 75 %"), an("L1 cache"), an("xz on the same CPU")
    ('a square wave', 'a CPU hog at 75 %', 'an L1 cache', 'xz on the same CPU')
    """
    if not noun.startswith(COUNTED):
        return noun
    return f"{'an' if noun[:1] in 'aeiouL' else 'a'} {noun}"


def listed(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """A table of words in lines; a cell that is too wide goes on below.

    >>> list(listed(("setting", "that fit"), [("kernel default", "3 of 9")], 60))
    ['setting         that', '                fit', 'kernel default  3 of 9']
    """
    cells = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sizes = [_title_size(title, least) for title, least in zip(head, cells, strict=True)]
    while sum(sizes) + 2 * (len(sizes) - 1) > width and max(sizes) > MIN:
        sizes[sizes.index(max(sizes))] -= 1
    for row in (head, *rows):
        parts = [textwrap.wrap(cell, size) or [""] for cell, size in zip(row, sizes, strict=True)]
        for line in zip_longest(*parts, fillvalue=""):
            whole = (part.ljust(size) for part, size in zip(line, sizes, strict=True))
            yield "  ".join(whole).rstrip()[:width]


def _title_size(title: str, least: int) -> int:
    """The width at which a title has two lines at most and no word is broken.

    >>> _title_size("75 % p99 at 30 % load", 5)
    11
    """
    least = max(least, *map(len, title.split()), 0)
    sizes = range(least, max(least, len(title)) + 1)
    return next(size for size in sizes if len(textwrap.wrap(title, size or 1)) <= TITLE_LINES)


def columns(rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Rows of cells as lines, each column as wide as its widest cell; the last goes on below.

    >>> list(columns([("load", "tail"), ("10 %", "1 ms")], 60))
    ['load  tail', '10 %  1 ms']
    """
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(size) for cell, size in zip(row, wide, strict=True))
        yield "  ".join(cells).rstrip()[:width]


def sentence(*forms: str) -> str:
    """The first of several forms that is short enough, with a capital and a full stop.

    >>> sentence("so " * 30, "of gzip no difference was shown")
    'Of gzip no difference was shown.'
    >>> sentence("so " * 30)[-8:]  # what is left out is marked
    'so so ….'
    """
    message = next((form for form in forms if len(form.split()) <= WORDS_MAX), forms[-1])
    parts = message.split()
    if len(parts) > WORDS_MAX:
        parts = [*parts[: WORDS_MAX - 1], f"{parts[WORDS_MAX - 1].rstrip(',;:')} …"]
    text = " ".join(parts).rstrip(".")
    first = text.partition(" ")[0]
    is_name = "_" in first or any(letter.isdigit() for letter in first)  # p99, img_dnn
    return f"{text if is_name else capital(text)}."
