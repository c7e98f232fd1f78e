"""A study as it goes on, on stderr: a display on a terminal, one line a point elsewhere.

Drawn only when the generator's line of the second arrives, on the caller's thread: a display with
a thread of its own would wake the CPU that the client may share.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sojourn import host, run, store
from sojourn.browse.words import point_words, served, so_far
from sojourn.cli import point_line
from sojourn.cli.draw import to_stderr
from sojourn.plan import Outcome, Point, Rehearsal, rehearse
from sojourn.questions import PLANS
from sojourn.run.session import placement
from sojourn.spec import Study
from sojourn.units import show_count, show_ns, show_s

LAST = 6
BEFORE = ("turn", "preflight", "hosts")  # steps of the machine, before there is a point
_MARKS = {"holds": "green", "violated": "red"}


class Display:
    """A `pipeline.Watcher` for people; a context manager."""

    def __init__(
        self,
        study: Study,
        console: Console | None = None,
        *,
        is_quiet: bool = False,
        above: Callable[[float], Sequence[RenderableType]] = lambda _left_s: (),
    ) -> None:
        """On stderr unless a console is given.

        Args:
            study: that goes on.
            console: where it is drawn.
            is_quiet: nothing is drawn or reported.
            above: what else to draw, on top; is given the time that is left of the study, s.
        """
        self._above = above
        self.saved = 0
        self._is_quiet = is_quiet
        self._study = study
        self._console = console or to_stderr()
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._last: deque[Text] = deque(maxlen=LAST)
        self._so_far: dict[str, str] = {}  # the answer of each service, as written
        self._step = ""
        self._point: Point | None = None
        self._second: Mapping[str, Any] = {}
        self._done = 0
        self._promise: Rehearsal | None = None
        self._expected = 0
        self._began_s = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._is_quiet:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def opened(self, record: store.OpenRecord, facts: host.Facts) -> None:
        """Say where the record is, who runs where, and what is shared."""
        self.saved = len(record.outcomes())
        self._study = record.study_here
        self._say(Text(f"{self._study.name} ({self._study.run.profile}) into {record.path}"))
        for line, style in who_where(self._study, facts):
            self._say(Text(line, style=style))
        for text in (*record.notes, *(one.text for one in record.skipped)):
            self._say(Text(text, style="yellow"))
        if self.saved:
            self._say(Text(f"resumed with {self.saved} points"))

    def event(self, event: run.Event) -> None:
        """Show what the service does, or how the load goes."""
        if event.step in BEFORE:
            self._say(Text(event.text))
            return
        if event.second:
            self._second = event.second
        self._step = event.text
        self._draw()

    def began(self, point: Point, outcomes: Sequence[Outcome]) -> None:
        """Show a point and what is still to come."""
        if self._is_quiet:
            return
        if self._promise is None:  # once: it takes a second that the client may want
            self._promise = rehearse(self._study, PLANS, outcomes)
            self._expected = len(outcomes) + len(self._promise.points)
            self._began_s = time.monotonic()
        self._point, self._second = point, {}
        self._done = len(outcomes)
        self._draw()

    @property
    def _left_s(self) -> float:
        """What is left of the time that was promised, s; 0 where it takes longer."""
        gone_s = time.monotonic() - self._began_s
        return max(0.0, self._promise.wall_s - gone_s) if self._promise else 0.0

    def ended(self, outcome: Outcome, outcomes: Sequence[Outcome]) -> None:
        """Show what became of the point."""
        self.saved = len(outcomes)
        # A plan that needs more points than were foreseen has no total that is known.
        expected = self._expected or len(outcomes)
        total = f"{expected}+" if len(outcomes) > expected else f"{expected}"
        self._take_stock(outcome.point, outcomes)
        is_drawn = self._console.is_terminal  # then the answer so far is below all points
        answer = "" if is_drawn else self._so_far.get(served(self._study, outcome.point), "")
        made = point_line.line(
            self._study, outcome, outcomes, place=f"{len(outcomes):>3}/{total}", so_far=answer
        )
        line = Text(made.before)
        line.append(made.word, style=_MARKS.get(made.word, "yellow"))
        line.append(made.after, style="dim")
        if is_drawn:
            self._last.append(line)
            self._draw()
        else:
            self._say(line)

    def _take_stock(self, point: Point, outcomes: Sequence[Outcome]) -> None:
        """What the search of a service says so far; nothing before there is anything to say."""
        if not self._is_quiet and (answer := so_far(self._study, point, outcomes)):
            self._so_far[served(self._study, point)] = answer

    def _say(self, text: Text) -> None:
        if not self._is_quiet:
            self._console.print(text)

    def _draw(self) -> None:
        if not self._live.is_started or self._point is None:
            return
        above = self._above(self._left_s)
        self._live.update(Group(*above, *self._last, *self._now(self._point)), refresh=True)

    def _now(self, point: Point) -> Sequence[Text | Table]:
        gone_s = time.monotonic() - self._began_s
        row = Table.grid(padding=(0, 1))
        row.add_row(
            Text("▸", style="bold cyan"),
            Text(point_words(point), style="bold"),
            ProgressBar(total=1.0, completed=self._share(), width=20),
            Text(self._load(), style="cyan"),
        )
        is_longer = self._done >= self._expected
        left = "longer than planned" if is_longer else f"about {show_s(self._left_s)} left"
        line = (
            f"  {self._done} of about {self._expected} points, {show_s(gone_s)} gone, {left}; "
            "^C stops; measured points are saved"
        )
        answers = [Text(f"  {name}: {text}", style="bold") for name, text in self._so_far.items()]
        return (row, *answers, Text(line, style="dim"))

    def _share(self) -> float:
        length = self._second.get("length_s", 0.0)
        return min(1.0, self._second.get("t_s", 0.0) / length) if length else 0.0

    def _load(self) -> str:
        second = self._second
        if not second:
            return self._step
        errors = f"  {second['errors']:.0f} errors" if second.get("errors") else ""
        return (
            f"{show_count(second.get('done_rps', 0.0))}/s  p50 {show_ns(second.get('p50_ns', 0))}"
            f"  p99 {show_ns(second.get('p99_ns', 0))}{errors}"
        )


def who_where(study: Study, facts: host.Facts) -> list[tuple[str, str]]:
    """Which CPUs server and client have, and what they share: (line, style), each line once.

    Services differ in it: one that runs already is where it is.
    """
    places = [placement(one, facts, study) for one in study.services]
    lines = [(where.text, "dim") for where in places]
    every = (shared for where in places for shared in where.shared)
    lines += [(f"note: {shared.what}: {shared.effect}", "yellow") for shared in every]
    return list(dict.fromkeys(lines))
