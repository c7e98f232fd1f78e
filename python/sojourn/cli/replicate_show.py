"""Replicas on the terminal: how far they are, their list, and what came out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sojourn.cli.draw import escape, to_stderr, to_stdout
from sojourn.cli.models_show import print_table
from sojourn.cli.plain import put_json

if TYPE_CHECKING:
    from rich.console import Console

    from sojourn.models.replicate.kind import Experiment, Replica


class Display:
    """How far it is, on stderr: a bar on a terminal, one line an experiment elsewhere."""

    def __init__(self, experiments: Sequence[Experiment]) -> None:
        """Show a bar, on a terminal, for the experiments that lie ahead."""
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._console = to_stderr()
        self._of = len(experiments)
        self._done = 0
        self._began_s = 0.0
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=1)

    def __enter__(self) -> Self:
        """Start the bar, on a terminal."""
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away, however the experiments ended."""
        if self._console.is_terminal:
            self._bar.stop()

    def begin(self, experiment: Experiment) -> None:
        """Name the experiment that starts now and empty the bar."""
        self._began_s = time.monotonic()
        what = f"[{self._done + 1}/{self._of}] {experiment.ids[0]} {experiment.title}"
        self._bar.update(self._task, description=escape(what), completed=0, total=None)

    def step(self, done: int, of: int) -> None:
        """So many of its simulations are done."""
        self._bar.update(self._task, completed=done, total=of)

    def finish(self, replica: Replica) -> None:
        """It is over: one line that stays."""
        self._done += 1
        took_s = time.monotonic() - self._began_s
        place = f"[{self._done}/{self._of}]"
        self._console.print(
            f"{escape(place)} {replica.id:<4} {took_s:5.1f} s  {replica.verdict:<10} "
            f"{escape(replica.title)}"
        )


def print_list(catalogue: Sequence[Any], *, as_json: bool) -> None:
    """Every experiment with its state and how it is measured."""
    if as_json:
        put_json(catalogue)
        return
    rows = [(entry.id, entry.state, entry.about, entry.how) for entry in catalogue]
    print_table(to_stdout(), ("id", "state", "what", "how"), rows)


def print_replicas(replicas: Sequence[Replica]) -> None:
    """Each replica, and what the statements of all of them came to."""
    from sojourn.models.replicate.kind import Word

    console = to_stdout()
    for replica in replicas:
        _show(console, replica)
    if len(replicas) > 1:
        rows = [
            (r.verdict, r.id, r.label, *(str(r.counts[word] or "-") for word in Word), r.title)
            for r in replicas
        ]
        print_table(console, ("", "id", "how", *Word, "what"), rows)
        total = [f"{sum(r.counts[word] for r in replicas)} {word}" for word in Word]
        console.print(f"\nstatements: {', '.join(total)}")


def _show(console: Console, replica: Replica) -> None:
    from sojourn.report import replicas as pictures

    console.print(f"[bold]{replica.id}[/] {escape(replica.title)} — {replica.label}\n")
    checks = [(c.verdict, c.what, c.paper, c.ours, c.tolerance or "-") for c in replica.checks]
    head = ("", "statement", "paper", f"ours, {replica.label}", "holds within")
    print_table(console, head, checks)
    width = min(100, console.width)
    for line in pictures.lines(replica, width):
        console.print(escape(line), soft_wrap=True)
    for matrix in replica.matrices:
        console.print(
            f"\n{escape(matrix.name)}: rows {matrix.row_label}, highest first; columns "
            f"{matrix.column_label} {matrix.columns[0]:g} to {matrix.columns[-1]:g}"
        )
        for load, cells in zip(reversed(matrix.rows), reversed(matrix.cells), strict=True):
            console.print(f"  {load:4.0%} " + " ".join(f"{cell:>2}" for cell in cells))
    console.print("\nparameters:")
    for parameter in replica.parameters:
        console.print(f"  {parameter.name}: {parameter.value} [dim]({escape(parameter.source)})[/]")
    for note in replica.notes:
        console.print(f"note: {escape(note)}")
    console.print(f"\nverdict: {replica.verdict}\n")
