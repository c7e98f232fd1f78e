"""`sojourn whatif`: other machines, schedulers and ways of calling, simulated."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli.faults import say
from sojourn.cli.options import RESULTS, AsJson, Results
from sojourn.cli.plain import put_json
from sojourn.cli.predict_cmd import parse_target
from sojourn.cli.record_path import record_path
from sojourn.cli.whatif_service import service_time
from sojourn.errors import Exit, SpecFault
from sojourn.quantiles import ALL
from sojourn.text.numbers import percentile
from sojourn.units import show_count, show_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sojourn.models.whatif.answer import Answer
    from sojourn.models.whatif.asked import Combination, Question

SCHEMA = "sojourn.whatif/1"
_MACHINE, _CALLS, _TIME = "A machine", "Services that call", "What changes with time"


def _levels(name: str, about: str, panel: str) -> Any:
    return typer.Option(name, metavar="LIST", show_default=False, help=about, rich_help_panel=panel)


def whatif(
    service: Annotated[
        str,
        typer.Option(
            metavar="DIST", help="Service time: exponential:50us, fixed:1ms, gamma:1ms,2."
        ),
    ] = "",
    record: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RECORD",
            show_default=False,
            help="Instead of --service: a record, by folder, part of its name or study; `sojourn "
            "calibrate` fits the service time.",
        ),
    ] = None,
    setting: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            show_default=False,
            help='With --from: a sweep of the record, by service or setting: "neighbour = none".',
        ),
    ] = "",
    target: Annotated[str, typer.Option(metavar="TEXT", help="Quantile and bound.")] = "p99<=10ms",
    rate: Annotated[
        str,
        typer.Option(
            metavar="RATE",
            show_default="the highest within the target is searched",
            help="Offered load: 2k, steps:2k@10s,9k@60s, ramp:1k..9k@60s, sine:2k,1k,60s.",
        ),
    ] = "",
    arrivals: Annotated[
        str, typer.Option(metavar="KIND", help="Arrival process: poisson, fixed, trace:FILE.")
    ] = "poisson",
    cores: Annotated[
        str, _levels("--cores", "CPUs of the machine, or of one instance: 1,2,4.", _MACHINE)
    ] = "",
    scheduler: Annotated[str, _levels("--scheduler", "eevdf, cfs, bvt, rt, fifo.", _MACHINE)] = "",
    neighbour: Annotated[
        str,
        _levels(
            "--neighbour", "On each CPU: none, spin, or work/sleep such as 6ms/42ms.", _MACHINE
        ),
    ] = "",
    instances: Annotated[
        str, _levels("--instances", "Instances, each with its queue.", _CALLS)
    ] = "",
    fanout: Annotated[
        str, _levels("--fanout", "Calls of one request at once; all are needed.", _CALLS)
    ] = "",
    hedge: Annotated[
        str, _levels("--hedge", "Send a second copy after this time: none,5ms.", _CALLS)
    ] = "",
    timeout: Annotated[str, _levels("--timeout", "Give a call up after this time.", _CALLS)] = "",
    retries: Annotated[str, _levels("--retries", "Attempts after the first: 0,3.", _CALLS)] = "",
    backoff: Annotated[str, _levels("--backoff", "Pause before a retry; it doubles.", _CALLS)] = "",
    budget: Annotated[
        str, _levels("--budget", "Most retries, as a share of all calls: 10%.", _CALLS)
    ] = "",
    errors: Annotated[
        str, _levels("--errors", "Share of replies that are errors: 0,1%.", _CALLS)
    ] = "",
    scale: Annotated[
        str, _levels("--scale", "Fewest and most instances, by use: none,1..8.", _TIME)
    ] = "",
    startup: Annotated[
        str, _levels("--startup", "Time until a new instance serves: 5s,60s.", _TIME)
    ] = "",
    speed: Annotated[
        str, _levels("--speed", "Lower speed, and the use above which it is left: 0.6@0.8.", _TIME)
    ] = "",
    requests: Annotated[
        int, typer.Option(metavar="N", help="Requests of one run; a schedule has its own.")
    ] = 20_000,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of every draw.")] = 1,
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> int:
    """What would other machines, schedulers and ways of calling do? Ask the simulator.

    Give a service time, or a record to fit it to, and lists of levels. Every combination is
    simulated: the highest load within the target, or with --rate the tail at that load. The
    simulator is held against closed forms by tests. Each answer is labelled as predicted, and
    comes with the measurement that would check it.

    Exit codes: 0 answered (with --rate: all within the target), 1 a combination is not within it,
    2 wrong usage, 3 the simulator does not vouch for an answer.

    \b
    Examples:
      sojourn whatif --service exponential:50us --neighbour none,spin
      sojourn whatif --service exponential:50us --scheduler eevdf,rt --cores 1,2
      sojourn whatif --service exponential:5ms --fanout 1,5 --instances 10 --hedge none,20ms
      sojourn whatif --service fixed:9ms --rate 70 --timeout 90ms --retries 0,3
      sojourn whatif --from RECORD --cores 1,2,4 --target "p99<=1ms"
      sojourn whatif --from RECORD --setting "neighbour = none" --cores 1,2
    """
    from sojourn.models.simulator import Simulator
    from sojourn.models.whatif import answer
    from sojourn.models.whatif.asked import NAMES, Question, combinations

    texts = {
        "cores": cores, "scheduler": scheduler, "neighbour": neighbour, "instances": instances,
        "fanout": fanout, "hedge": hedge, "timeout": timeout, "retries": retries,
        "backoff": backoff, "budget": budget, "errors": errors, "scale": scale,
        "startup": startup, "speed": speed,
    }  # fmt: skip
    levels = {name: _words(texts[name], name) for name in NAMES}
    q, bound_ns = parse_target(target, ALL)
    if record and not service:  # both are refused below
        record = record_path(record, results)
    drawn = service_time(service, record, setting)
    if not 1000 <= requests <= 10_000_000:
        raise SpecFault(f"{requests} requests", at="--requests", fix="give 1,000 to 10,000,000")
    question = Question(
        service=drawn.text, unit=drawn.unit, arrivals=arrivals, rate=_rate(rate, arrivals),
        q=q, bound_ns=bound_ns, requests=requests, seed=seed,
    )  # fmt: skip
    every = list(combinations(levels))
    if any(one.is_machine for one in every) and ":" in question.rate:
        raise SpecFault(
            "the simulator of schedulers takes a steady rate", at="--rate", fix="write --rate 20k"
        )
    gathered = answer.answers(Simulator.find(), question, every, _progress(every))
    if as_json:
        put_json(_document(question, gathered, drawn.doubts))
    else:
        _print(question, gathered, [name for name in NAMES if len(levels[name]) > 1])
        _print_doubts(drawn.doubts)
    return _exit(question, gathered)


def _progress(every: Sequence[Combination]) -> Callable[[int], None] | None:
    """A line on the terminal for each combination; high loads take some ten seconds each."""
    if not sys.stderr.isatty():
        return None
    return lambda number: say(f"simulating {number} of {len(every)}")


def _words(text: str, name: str) -> list[str]:
    gathered = [word.strip() for word in text.split(",")] if text else []
    if any(not word for word in gathered):
        raise SpecFault("a level is empty", at=f"--{name}", fix="write levels with commas: 1,2,4")
    return list(dict.fromkeys(gathered))


def _rate(text: str, arrivals: str) -> str:
    if text or not arrivals.startswith("trace:"):
        return text
    raise SpecFault(
        "a trace is played at a rate", at="--rate", fix="write --rate 2k; the trace is stretched"
    )


def _exit(of: Question, gathered: Sequence[Answer]) -> int:
    if any(one.tail_ns[0] > of.bound_ns and not _is_cut(one) for one in gathered if of.rate):
        return Exit.VIOLATED
    # At a searched rate nothing grows; where a rate is given, an unclear tail decides nothing.
    is_open = any(one.tail_ns[0] <= of.bound_ns < one.tail_ns[2] for one in gathered if of.rate)
    return Exit.UNKNOWN if is_open or any(one.reasons for one in gathered) else Exit.OK


def _is_cut(one: Answer) -> bool:
    """Whether the simulator gave a run up: then nothing says that the queue grows."""
    return any(reason.startswith("not finished") for reason in one.reasons)


def _print_doubts(doubts: Sequence[str]) -> None:
    from sojourn.cli.draw import escape, to_stdout

    for doubt in doubts:
        to_stdout().print(f"[dim]- {escape(doubt)}[/]", soft_wrap=True)


def _document(of: Question, gathered: Sequence[Answer], doubts: Sequence[str]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "label": "predicted",
        "question": asdict(of),
        "doubts": list(doubts),
        "answers": [asdict(one) for one in gathered],
    }


def _print(of: Question, gathered: Sequence[Answer], varied: Sequence[str]) -> None:
    from sojourn.cli.draw import escape, new_table, to_stdout

    console = to_stdout()
    word = percentile(of.q)
    asked = (
        f"the tail at {of.rate}"
        if of.rate
        else f"highest load with {word} ≤ {show_ns(of.bound_ns)}"
    )
    console.print(escape(f"predicted, by simulation: {asked}"))
    number = () if of.rate else ("max load", "surely to surely not")
    table = new_table(*varied, *number, word, "95 % interval", "answered", "per user", "keeps")
    for one in gathered:
        levels = [str(getattr(one.of, name)) for name in varied]
        table.add_row(*map(escape, (*levels, *_numbers(one))))
    console.print(table)
    for one in gathered:
        for reason in one.reasons:
            each = ", ".join(f"{name} {getattr(one.of, name)}" for name in varied)
            console.print(f"[dim]- {escape(each or 'answer')}: {escape(reason)}[/]")
    for check in dict.fromkeys(one.check for one in gathered):
        console.print(f"[dim]- check it: {escape(check)}[/]", soft_wrap=True)


def _digits(rps: float) -> str:
    """A rate, fine enough that two ends of an interval differ."""
    return f"{rps:,.0f}" if rps >= 100 else show_count(rps)


def _numbers(one: Answer) -> list[str]:
    border = []
    if one.border is not None:
        sure = f"{_digits(one.border.lo)} to {_digits(one.border.hi)}"
        border = [f"{show_count(one.border.value)}/s" if one.border.value else "none", sure]
    lo, value, hi = one.tail_ns
    if _is_cut(one):
        tail = ["not known", ""]
    elif math.isinf(value):
        tail = ["the queue grows" if one.answered > 0.99 else "not answered", ""]
    else:
        tail = [
            show_ns(value),
            "not known" if math.isinf(hi) else f"{show_ns(lo)} to {show_ns(hi)}",
        ]
    progress = "" if one.progress is None else f"{one.progress:.0%}"
    return [*border, *tail, f"{one.answered:.2%}", f"{one.work:.2f}", progress]
