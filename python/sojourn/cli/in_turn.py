"""What `compare` and `gate` share: services that are measured in turn."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn import system
from sojourn.cli import credentials, own_target, visible_words
from sojourn.cli.faults import say
from sojourn.cli.options import RESULTS
from sojourn.cli.turn_numbers import BLOCKS_MOST, block_s
from sojourn.errors import SpecFault
from sojourn.units import show_s

if TYPE_CHECKING:
    from sojourn.pipeline import Done
    from sojourn.run import Patience
    from sojourn.spec import Study

PANEL = "Measure in turn"
FASTER = 4  # a service that starts at once has so many times as many blocks in the time
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
Numbers = Annotated[
    str,
    typer.Option(
        "--numbers",
        metavar="NAME,NAME",
        rich_help_panel=PANEL,
        help="What is compared: cpu (CPU time per request), mean, p50, p99, p99.9 (then a run has "
        "10,000 requests at least), max_rps (requests/s of a closed loop, in a run of its own). A "
        "tail varies more, so it takes longer.",
        show_default="mean,p50,p99,cpu",
    ),
]
Trace = Annotated[
    int,
    typer.Option(
        "--trace",
        metavar="RUNS",
        min=0,
        max=20,
        rich_help_panel=PANEL,
        help="If one is worse or better, then trace so many runs of each, and say which stage "
        "moved; five or more show most. Needs root.",
    ),
]
Target = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="URL",
        rich_help_panel=PANEL,
        help="What a command's service is asked, such as 'memcache://{host}:{port}' or "
        "'http://{host}:{port}/search?q=x'.",
        show_default="http://{host}:{port}/",
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


def services(
    texts: Sequence[tuple[str, str]], target: str, load: Mapping[str, credentials.JobValue]
) -> list[dict[str, Any]]:
    """The services that were typed, as a study file has them.

    Args:
        texts: URLs, and commands that start a service, each behind the option that has it.
        target: as `--target` has it.
        load: keys of the generator's job, as `credentials.job_keys` has them.

    Raises:
        SpecFault: a URL or the target is none; a target is given, and none of them is a command;
            or keys, and there is none.
    """
    from sojourn.spec.sides import side_of

    sides = [side_of(text, target) for _, text in texts]
    urls = [typed for typed, side in zip(texts, sides, strict=True) if side["kind"] == "external"]
    own_target.check_all([*urls, *([("--target", target)] if target else [])])
    if target and not any(side["kind"] == "command" for side in sides):
        raise SpecFault(
            "it says what a command's service is asked, and no command is given",
            at="--target",
            fix="leave it out: a URL is asked as it is typed, and a kind in its own protocol",
        )
    if load and not sides:
        raise SpecFault(
            "it says how a service of your own is asked, and there is no command or URL",
            at=", ".join(map(credentials.option_of, load)),
            fix="leave it out: it is for services that are measured by their command or URL",
        )
    return credentials.with_keys(sides, load)


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
        compare: its table `[compare]`, with the blocks that are expected in the time.
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
    if compare.get("trace"):
        check_traced(sides)
    with as_typed():
        return built.study_of(
            [with_load(side, connections) for side in sides],
            rate=rate,
            compare={**compare, "blocks": min(FASTER * compare["blocks"], BLOCKS_MOST)},
            measure_s=measure_s,
            name=name,
            shield="none" if no_shield else "priority",
            budget_s=compare["blocks"] * block_s(len(sides), measure_s, compare["numbers"]),
        )


def check_traced(sides: Sequence[Mapping[str, Any]]) -> None:
    """Refuse services that cannot be traced.

    Raises:
        SpecFault: the processes of a service are not known.
        HostFault: nothing can be traced here.
    """
    from sojourn import host
    from sojourn.actors import probes

    if any(side["kind"] == "external" for side in sides):
        raise SpecFault(
            "the processes behind a URL are not known, so they cannot be traced",
            at="--trace",
            fix="leave it out, or give commands that start the services",
        )
    probes.KINDS["trace"].check(host.read(sample_s=0.0, has_versions=False))


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
        compare: its table `[compare]`, with expected blocks, numbers and alpha.
        results: folder of results.
    """
    from sojourn.stats import visible_change

    blocks, others = int(compare["blocks"]), len(asked.services) - 1
    seconds = blocks * block_s(others + 1, asked.run.measure_s, compare["numbers"])
    last = asked.services[-1].label
    say(f"about {blocks} blocks in {show_s(seconds)}; each has one run of a to {last}")
    scatters, where = _scatters(results, asked.name)
    is_gate = bool(compare.get("gate"))
    alpha = compare["alpha"] / (len(compare["numbers"]) * others)
    margin = float(compare["max_regression"]) if is_gate else 0.0
    parts = []
    for number, scatter in scatters.items():
        if is_gate:
            seen = visible_change.gate_change_in(blocks, scatter, alpha, margin)
            parts.append(visible_words.worse(number, seen))
        else:  # worse or better: either side has half of alpha
            seen = visible_change.change_in(blocks, scatter, alpha / 2)
            parts.append(visible_words.either(number, seen))
    who = f"{visible_words.gate(margin)} sees" if is_gate else "a change of this size is seen"
    say(f"in this time {who} nine times out of ten, by {where}: {', '.join(parts)}")


def _scatters(results: Path, name: str) -> tuple[Mapping[str, float], str]:
    """Scatter of each number, and where it is from."""
    from sojourn import pipeline, store
    from sojourn.errors import Fault
    from sojourn.questions import scatter
    from sojourn.store.named import by_start

    own = [path for path in store.records(results) if path.parent.parent.name == name]
    for path in sorted(own, key=by_start, reverse=True)[:20]:
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
