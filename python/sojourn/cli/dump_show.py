"""A dump of the black box as text: what made requests slow, and the slowest of them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.cli import lowered
from sojourn.cli.plain import put_json
from sojourn.units import show_ns, show_s

if TYPE_CHECKING:
    from rich.console import Console

    from sojourn.importers.ring_dump import Dump

SCHEMA = "sojourn.dump/1"
ROWS, CAUSES, STACK = 20, 8, 6


def show(path: Path, *, as_json: bool) -> None:
    """Print the dump in a file.

    Raises:
        SpecFault: it is no dump, or is damaged.
    """
    lowered.for_reading(path)
    from sojourn.importers import ring_dump
    from sojourn.importers.file import File

    dump = ring_dump.of(File(path).document(), str(path))
    if as_json:
        put_json({"schema": SCHEMA, **asdict(dump)})
    else:
        _print(dump)


def _print(dump: Dump) -> None:
    from sojourn.cli.draw import escape, to_stdout

    console = to_stdout()
    quantiles = "".join(
        f", {name} {show_ns(ns)}" for name, ns in dump.quantiles.items() if ns is not None
    )
    for line in (
        f"{dump.target} ({dump.pid}): {dump.answer}",
        f"{show_s(dump.seconds)} from {dump.at} UTC, {dump.requests:,} requests{quantiles}",
        f"dumped because {dump.cause}" if dump.cause else "",
        *dump.warnings,
    ):
        if line:
            console.print(escape(line))
    _causes(dump, console)
    _slowest(dump, console)
    blind = dump.blind
    console.print(
        escape(
            f"- {dump.stored:,} slow requests are stored singly, {min(ROWS, len(dump.slow))} are "
            f"shown; {blind.get('share', 0):.2%} of those from "
            f"{show_ns(blind.get('slow_from_ns', 0))} on lack"
        )
    )
    for one in dump.signals:
        text = f"- {one.at}: signal {one.number} to {one.pid} from {one.sender} ({one.sender_pid})"
        console.print(escape(text))


def _causes(dump: Dump, console: Console) -> None:
    from sojourn.cli.draw import escape, new_table

    if not dump.culprits:
        return
    table = new_table("of their time", "cause", "where it slept")
    for one in dump.culprits[:CAUSES]:
        stack = " ← ".join(one.stack[:STACK])
        table.add_row(*map(escape, (f"{one.share:.0%}", one.about, stack)))
    console.print(table)


def _slowest(dump: Dump, console: Console) -> None:
    from sojourn.cli.draw import escape, new_table

    if not dump.slow:
        return
    table = new_table("took", "began, UTC", "thread", "stages", "because")
    for one in dump.slow[:ROWS]:
        stages = sorted(one.stages, key=lambda stage: -stage[1])
        cells = (
            show_ns(one.total_ns),
            one.at,
            f"{one.thread} {one.tid}",
            ", ".join(f"{name} {show_ns(ns)}" for name, ns in stages[:3]),
            "; ".join(f"{it.about} {show_ns(ns)}" for it, ns in one.culprits[:2]),
        )
        table.add_row(*map(escape, cells))
    console.print(table)
