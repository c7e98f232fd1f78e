"""Services of the command line that are measured in turn: what `compare` and `gate` share."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli.faults import say
from sojourn.errors import SpecFault
from sojourn.units import NS_PER_S, parse_ns, show_s

if TYPE_CHECKING:
    from sojourn.pipeline import Done
    from sojourn.run import Patience
    from sojourn.spec import Study

PANEL = "Measure in turn"
BLOCKS_LEAST = 11  # four numbers, two sides, 1 %: a pair nearly doubles the evidence
USUAL_P99 = 0.33  # scatter of the log ratio of two equal runs of 2 s: 126 A/A pairs of memcached

Rate = Annotated[
    str,
    typer.Option(
        "--rate",
        metavar="RATE",
        rich_help_panel=PANEL,
        help="Offered load of every service, requests/s, such as 5k.",
        show_default="half of the lowest max RPS, which is measured first",
    ),
]
Within = Annotated[
    str,
    typer.Option(
        "--within",
        metavar="TIME",
        rich_help_panel=PANEL,
        help="Time limit. It ends earlier when the answer is clear.",
    ),
]
MeasureS = Annotated[
    float,
    typer.Option(
        "--measure-s",
        metavar="SECONDS",
        min=0.2,
        max=3600,
        rich_help_panel=PANEL,
        help="Length of one run.",
    ),
]
Connections = Annotated[
    int,
    typer.Option(
        "--connections",
        "-c",
        min=1,
        max=10_000,
        rich_help_panel=PANEL,
        help="Connections in total.",
    ),
]


def blocks_in(within: str, sides: int, measure_s: float) -> int:
    """How many blocks fit into a time, about.

    Raises:
        SpecFault: the time is none, or too short for any answer.
    """
    try:
        length_s = parse_ns(within) / NS_PER_S
    except ValueError as error:
        raise SpecFault(str(error), at="--within", fix="write a time such as 10m") from None
    blocks = int(length_s / block_s(sides, measure_s))
    if blocks < BLOCKS_LEAST:
        least = BLOCKS_LEAST * block_s(sides, measure_s)
        raise SpecFault(
            f"{within} is time for {blocks} blocks; an answer takes {BLOCKS_LEAST} at least",
            at="--within",
            fix=f"give {show_s(least)} or more, or shorter runs by --measure-s",
        )
    return min(blocks, 10_000)


def block_s(sides: int, measure_s: float) -> float:
    """About how long one block takes, s."""
    from sojourn.spec.sides import START_S, WARMUP_S

    return sides * (measure_s + WARMUP_S + START_S)


def study(sides: Sequence[Mapping[str, Any]], *, rate: str, measure_s: float, connections: int,
          compare: Mapping[str, Any], name: str) -> Study:  # fmt: skip
    """The study; SpecFault for options that are wrong."""
    from pydantic import ValidationError

    from sojourn.spec import sides as built
    from sojourn.spec.faults import mistakes

    with_load = [{**side, "load": {"connections": connections, **side.get("load", {})}}
                 for side in sides]  # fmt: skip
    try:
        return built.study_of(with_load, rate=rate, compare=compare, measure_s=measure_s, name=name)
    except ValidationError as error:
        key, what, fix = next(mistakes(error, {}))
        raise SpecFault(what, at=".".join(map(str, key)), fix=fix) from None


def say_visible(asked: Study, results: Path) -> None:
    """What can be seen in the time, by the scatter of the newest comparison on this machine."""
    from sojourn.stats import visible_change

    compare = asked.compare
    seconds = compare.blocks * block_s(len(compare.services), asked.run.measure_s)
    say(f"at most {compare.blocks} blocks, about {show_s(seconds)}; each has one run of a to "
        f"{compare.services[-1]}")  # fmt: skip
    scatters, where = _scatters(results, asked.name)
    family = len(compare.numbers) * (len(compare.services) - 1)
    alpha = compare.alpha / family / (1 if compare.gate else 2)
    margin = compare.max_regression if compare.gate else 0.0
    parts = []
    for number, scatter in scatters.items():
        seen = visible_change.change_in(compare.blocks, scatter, alpha, margin)
        parts.append(f"{number} ±{seen:.0%}" if seen else f"{number}: nothing")
    say(f"in this time a change of this size is seen nine times out of ten, by {where}: "
        f"{', '.join(parts)}")  # fmt: skip


def _scatters(results: Path, name: str) -> tuple[Mapping[str, float], str]:
    """Scatter of each number, and where it is from."""
    from sojourn import pipeline, store
    from sojourn.errors import Fault
    from sojourn.questions import scatter

    for path in sorted(store.records(results), key=lambda one: one.name, reverse=True)[:20]:
        if path.parent.parent.name != name:
            continue
        try:
            known = scatter(pipeline.judged(path))
        except Fault:
            continue
        if known:
            return known, f"the scatter in {path.name}"
    return {"p99": USUAL_P99}, "126 pairs of equal runs elsewhere (nothing was compared here yet)"


def measured(
    asked: Study, results: Path, waits: Patience, *, command: Sequence[str], is_quiet: bool
) -> Done | None:
    """Measure; None if it was stopped, which is said."""
    from sojourn import pipeline, run
    from sojourn.cli.live import Display
    from sojourn.questions import PLANS
    from sojourn.run.signals import ending_in_order

    say("this will")
    for line in run.effects(asked, PLANS):
        say(f"  {line}")
    typed = shlex.join(["sojourn", *command])
    display = Display(asked, is_quiet=is_quiet)
    try:
        with ending_in_order(), display:
            return pipeline.run_study(
                asked, results, display, resume=True, command=typed, patience=waits
            )
    except KeyboardInterrupt:
        say(f"stopped; {display.kept} points are saved; resume with: {typed}")
        return None
