"""What a question is to the report: how its section is said, listed and drawn.

Page and terminal ask every kind in turn; who has nothing to say of a service says nothing. A new
one has to write nothing but what is particular to it: its answer in words is shown by itself.
"""

from __future__ import annotations

import inspect
from abc import ABC
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.state import Settle
from sojourn.report import people
from sojourn.report.draw.figure import Kind
from sojourn.report.draw.table import Table

GAP = 2  # columns between two of a table


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """An interval on the load axis: all places as shares of its length, in [0, 1].

    Attributes:
        end: what the axis ends with, in words.
        is_open_low, is_open_high: nothing was seen to hold, or to fail.
    """

    lo: float
    hi: float
    at: float
    end: str
    is_open_low: bool
    is_open_high: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """What a tile shows first.

    Attributes:
        number, unit: the answer.
        said: how sure it is and what it rests on, or what the number is.
        short: it in a word or two, for a headline.
    """

    number: str
    unit: str = ""
    said: str = ""
    short: str = ""


class Shown(ABC):  # a question may have nothing of its own to show
    """How the section of a question is shown.

    Attributes:
        name: of the question, as in `sojourn.questions`.
        template: of its part of a service on the page; "" for none. One in its own folder is
            `NAME/FILE`.
        study_template: of its part of the page for the whole study; "" for none.
        study_link: (anchor, words) to that part.
        leads: where it has something of all services, that is reported before any of them.
        figures: kinds of figures that are only about it.
        place: in the order of showing, ascending; of one place in the order of asking.
    """

    name: ClassVar[str]
    template: ClassVar[str] = "section.html.j2"
    study_template: ClassVar[str] = ""
    study_link: ClassVar[tuple[str, str]] = ("", "")
    leads: ClassVar[bool] = False
    figures: ClassVar[tuple[Kind, ...]] = ()
    place: ClassVar[int] = 10

    @property
    def folder(self) -> Path:
        """Where its own templates are."""
        return Path(inspect.getfile(type(self))).parent

    def number(self, service: ServiceFinding) -> Number | None:
        """What the tile shows; the first that has one is taken."""
        del service
        return None

    def bar(self, service: ServiceFinding) -> Bar | None:
        """Where the answer lies on the load axis."""
        del service
        return None

    def notes(self, service: ServiceFinding) -> list[str]:
        """What else belongs to the answer."""
        del service
        return []

    def reasons(self, service: ServiceFinding) -> tuple[str, ...]:
        """Why it is no answer to decide by, before the service's own reasons."""
        del service
        return ()

    def settle(self, service: ServiceFinding) -> Settle | None:
        """The command that would settle what is still open."""
        del service
        return None

    def facts(self, service: ServiceFinding) -> Iterator[tuple[str, str]]:
        """(name, value) of the numbers that stand under the answer."""
        del service
        yield from ()

    def data(self, service: ServiceFinding) -> Table | None:
        """What it found as a table; None: there is none."""
        del service
        return None

    def table(self, service: ServiceFinding, width: int) -> Iterator[str]:
        """The table as text of at most `width` columns."""
        result = self.data(service)
        if result is None:
            return
        shown = people.table(result, limit=len(result.rows))
        lines = [shown.columns, *shown.rows]
        wide = [max(len(line[at]) for line in lines) for at in range(len(shown.columns))]
        for line in lines:
            cells = (cell.ljust(size + GAP) for cell, size in zip(line, wide, strict=True))
            yield "".join(cells).rstrip()[:width]

    def plot(self, service: ServiceFinding, width: int) -> Iterator[str]:
        """A picture as text, with the empty lines around it."""
        del service, width
        yield from ()

    def has_whole(self, findings: Findings) -> bool:
        """Whether there is something to show of all services together."""
        return self.name in findings.sections

    def study_answer(self, findings: Findings) -> str:
        """The study's answer in fewer than 60 characters, where it is none about each service."""
        del findings
        return ""

    def study_words(self, findings: Findings) -> str:
        """What it found of all services together, for a headline."""
        del findings
        return ""

    def study_head(self, findings: Findings) -> Iterator[str]:
        """The same as lines under the answers."""
        del findings
        yield from ()

    def study_table(self, findings: Findings, width: int) -> Iterator[str]:
        """The same as a table of text."""
        del findings, width
        yield from ()

    def study_data(self, findings: Findings) -> Iterator[tuple[str, Table]]:
        """Tables of that for the page, each with a caption."""
        del findings
        yield from ()

    def study_doubts(self, findings: Findings) -> Sequence[people.Doubt]:
        """What speaks against that, the most frequent first."""
        del findings
        return ()
