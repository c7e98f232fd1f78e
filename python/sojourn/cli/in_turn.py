"""What `compare` and `gate` share: services that are measured in turn."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn import system
from sojourn.cli.faults import say
from sojourn.cli.options import RESULTS
from sojourn.errors import SpecFault
from sojourn.units import NS_PER_S, parse_ns, show_s

if TYPE_CHECKING:
    from sojourn.pipeline import Done
    from sojourn.run import Patience
    from sojourn.spec import Study

PANEL = "Measure in turn"
NUMBERS = ("mean", "p50", "p99", "cpu")
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


def study(
    sides: Sequence[Mapping[str, Any]],
    compare: Mapping[str, Any],
    *,
    name: str,
    rate: str,
    measure_s: float,
    connections: int,
    no_shield: bool,
) -> Study:
    """The study of services in turn.

    Args:
        sides: the services, as a study file has them.
        compare: its table `[compare]`, with blocks.
        name: of the study.
        rate: as `--rate` has it.
        measure_s: length of a run, s.
        connections: in total.
        no_shield: the server's CPUs are not protected.

    Raises:
        SpecFault: an option is wrong.
        HostFault: nothing can be measured on this system.
    """
    from sojourn.spec import sides as built

    system.check("run")
    with as_typed():
        return built.study_of(
            [with_load(side, connections) for side in sides],
            rate=rate,
            compare=compare,
            measure_s=measure_s,
            name=name,
            shield="none" if no_shield else "priority",
            budget_s=compare["blocks"] * block_s(len(sides), measure_s),
        )


def with_load(side: Mapping[str, Any], connections: int) -> dict[str, Any]:
    """A service with so many connections, unless its own load says otherwise."""
    return {**side, "load": {"connections": connections, **side.get("load", {})}}


@contextlib.contextmanager
def as_typed() -> Iterator[None]:
    """Within, a key that the study refuses is a mistake of the command line.

    Raises:
        SpecFault: names the key.
    """
    from pydantic import ValidationError

    from sojourn.spec.faults import mistakes

    try:
        yield
    except ValidationError as error:
        _, what, fix = next(mistakes(error, {}))
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise SpecFault(what, at=where or "the command line", fix=fix) from None


def say_visible(asked: Study, compare: Mapping[str, Any], results: Path) -> None:
    """Say what can be seen in the time, by the newest comparison in the results folder.

    Args:
        asked: the study.
        compare: its table `[compare]`, with blocks, numbers and alpha.
        results: folder of results.
    """
    from sojourn.stats import visible_change

    blocks, others = int(compare["blocks"]), len(asked.services) - 1
    seconds = blocks * block_s(others + 1, asked.run.measure_s)
    last = asked.services[-1].label
    say(f"at most {blocks} blocks, about {show_s(seconds)}; each has one run of a to {last}")
    scatters, where = _scatters(results, asked.name)
    is_gate = bool(compare.get("gate"))
    alpha = compare["alpha"] / (len(compare["numbers"]) * others) / (1 if is_gate else 2)
    margin = float(compare["max_regression"]) if is_gate else 0.0
    parts = []
    for number, scatter in scatters.items():
        seen = visible_change.change_in(blocks, scatter, alpha, margin)
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
    """Measure, after a list of what that does; None if it was stopped."""
    from sojourn import pipeline, run
    from sojourn.cli.live import Display
    from sojourn.questions import PLANS
    from sojourn.run.signals import ending_in_order

    say("this will")
    for line in run.effects(asked, PLANS):
        say(f"  {line}")
    where = ["--results", str(results)] if results != RESULTS else []
    typed = shlex.join(["sojourn", *command, *where])
    display = Display(asked, is_quiet=is_quiet)
    try:
        with ending_in_order(), display:
            return pipeline.run_study(
                asked, results, display, resume=True, command=typed, patience=waits
            )
    except KeyboardInterrupt:
        say(f"stopped; {display.saved} points are saved; resume with: {typed}")
        return None
