"""`sojourn noise`: the parts of this machine's noise, and what a gate sees."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn import units
from sojourn.cli import consent, credentials, in_turn, lowered, turn_numbers, visible_words
from sojourn.cli.draw import named, new_table, to_stdout
from sojourn.cli.faults import say
from sojourn.cli.options import RESULTS, AsJson, NoShield, RecordArgument, Results
from sojourn.cli.patience import Force, Wait, patience
from sojourn.cli.plain import put_json
from sojourn.cli.run import Quiet
from sojourn.errors import Exit, SpecFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sojourn.analysis.noise import Cause, Noise
    from sojourn.run import Patience
    from sojourn.stats.variance_components import Component

NAME = "noise"
RUN_S = 6.0
CURES = {
    "start to start": "measure from many fresh starts; no longer run helps",
    "within a run": "longer runs",
    "drift": "measure old and new in turn: `sojourn compare`, `sojourn gate`",
}

Command = Annotated[
    str,
    typer.Option(
        "--command",
        metavar="ARGV",
        show_default=False,
        rich_help_panel=in_turn.PANEL,
        help="Command that starts a service; write {port} for its port.",
    ),
]
Service = Annotated[
    str,
    typer.Option(
        "--service",
        metavar="KIND",
        show_default=False,
        rich_help_panel=in_turn.PANEL,
        help="A service of `sojourn kinds`, instead of a command.",
    ),
]
Within = Annotated[
    str,
    typer.Option(
        "--within", metavar="TIME", rich_help_panel=in_turn.PANEL, help="Time to measure, about."
    ),
]


def noise(
    record: RecordArgument = None,
    command: Command = "",
    service: Service = "",
    rate: in_turn.Rate = "",
    within: Within = "5m",
    connections: in_turn.Connections = 16,
    target: in_turn.Target = "",
    insecure: credentials.Insecure = False,
    ca_file: credentials.CaFile = "",
    cert: credentials.Cert = "",
    key: credentials.Key = "",
    auth: credentials.Auth = "",
    method: credentials.Method = "",
    header: credentials.Header = None,
    body: credentials.Body = "",
    body_file: credentials.BodyFile = "",
    query: credentials.Query = None,
    option: credentials.Option = None,
    no_shield: NoShield = False,
    yes: consent.Yes = False,
    wait: Wait = "0s",
    force: Force = False,
    results: Results = RESULTS,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """How does this machine's noise divide, and which change can a gate see here?

    With --command or --service, one service is started again and again under one load. With a
    record, its runs are used. Printed are the parts of the noise with 95 % intervals: from start to
    start, within a run, and drift. Then what goes with stolen time and with stops of the client.
    Then the smallest increase that a gate with a limit of 5 % sees, and what disturbs the machine.

    Exit codes: 0 printed, 2 the options are wrong, 3 too few runs, 4 something outside failed, 130
    stopped.

    \b
    Examples:
      sojourn noise --command './server {port}'
      sojourn noise --service memcached --within 3m
      sojourn noise latency_vs_load
      sojourn noise --json | jq '.components.p99.starts'
    """
    from sojourn import pipeline, store

    load = credentials.job_keys(
        insecure=insecure, ca_file=ca_file, cert=cert, key=key, auth=auth,
        method=method, header=header, body=body, body_file=body_file, query=query,
        option=option,
    )  # fmt: skip
    if command or service:
        if record or (command and service):
            raise SpecFault(
                "give one of a record, --command and --service",
                at="sojourn noise",
                fix="leave out the others",
            )
        own = in_turn.services([("--command", command)] if command else [], target, load)
        typed = ["--command", command] if own else ["--service", service]
        path = _measured(
            own[0] if own else {"kind": service},
            [*typed, *credentials.words(load)],
            rate=rate,
            within=within,
            connections=connections,
            target=target,
            no_shield=no_shield,
            waits=patience(wait, None, is_forced=force),
            results=results,
            yes=yes,
            quiet=quiet,
        )
        if path is None:
            return Exit.INTERRUPTED
    else:
        in_turn.services([], target, load)
        if not record and not any(store.records(results)):
            raise SpecFault(
                "no service is named, and there is no record yet",
                at="sojourn noise",
                fix="measure one now: --service memcached, or --command './server {port}'",
            )
        path = store.resolve(results, record)
        lowered.for_reading(path)
    from sojourn.analysis import noise as parts

    findings = pipeline.judged(path)
    divided = parts.noise(findings, turn_numbers.block_s(2, RUN_S))
    if divided is None or not any(divided.components.values()):
        say("too few runs: five starts of a service with two seconds each are needed")
        for reason, count in parts.doubts(findings):
            say(f"unknown: {count} {'run' if count == 1 else 'runs'}: {reason}")
        return Exit.UNKNOWN
    divided = replace(divided, disturbing=_disturbing(path))
    if as_json:
        put_json({"record": path, **{n: getattr(divided, n) for n in divided.__dataclass_fields__}})
    else:
        _print(divided)
    return Exit.OK


def _measured(
    side: dict[str, Any],
    typed: Sequence[str],
    *,
    rate: str,
    within: str,
    connections: int,
    target: str,
    no_shield: bool,
    waits: Patience,
    results: Path,
    yes: bool,
    quiet: bool,
) -> Path | None:
    """The record of so many starts as fit into the time; None if it was stopped."""
    from sojourn import run
    from sojourn.spec.sides import repeated

    starts = turn_numbers.blocks_in(within, 1, RUN_S)
    with in_turn.as_typed():
        study = repeated(
            in_turn.with_load(side, connections),
            rate=rate,
            starts=starts,
            measure_s=RUN_S,
            name=NAME,
            shield="none" if no_shield else "priority",
        )
    run.refuse_others(study, is_agreed=yes)
    say(f"{starts} starts of {RUN_S:g} s each, about {within}")
    words = ["noise", *typed, "--within", within, "--connections", str(connections)]
    words += ["--rate", rate] if rate else []
    words += ["--no-shield"] if no_shield else []
    words += ["--target", target] if target else []
    done = in_turn.measured(study, results, waits, command=words, is_quiet=quiet)
    return None if done is None else done.path


def _disturbing(path: Path) -> tuple[tuple[str, str], ...]:
    """What the record says disturbed its machine; a manifest is a foreign file."""
    from sojourn import store

    pairs = store.read(path).manifest.get("noise")
    return tuple(
        (str(pair[0]), str(pair[1]))
        for pair in (pairs if isinstance(pairs, list) else ())
        if isinstance(pair, list) and len(pair) == 2
    )


def _print(divided: Noise) -> None:
    console = to_stdout()
    table = new_table("number", "part", "size", "interval", "what helps")
    for number, of in divided.components.items():
        if of is None:
            continue
        for part, one in (
            ("start to start", of.starts),
            ("within a run", of.windows),
            ("drift", of.drift),
        ):
            table.add_row(number, part, _size(one.sigma), _ends(one), CURES[part])
    console.print(table)
    for line in _lines(divided):
        console.print(named(line))
    if divided.disturbing:
        table = new_table("disturbs this machine", "what helps")
        for what, cure in divided.disturbing:
            table.add_row(named(what), named(cure))
        console.print(table)


def _lines(divided: Noise) -> list[str]:
    known = next(one for one in divided.components.values() if one is not None)
    where = f"{divided.service} at {divided.offered_rps:,.0f} requests/s"
    base = f"{known.runs} starts, {known.per_run:.3g} windows of {divided.window_s:.2g} s each"
    lines = ["", f"{where}, {base}. Sizes are standard deviations."]
    lines += [f"Starts fall into two groups: {', '.join(divided.modes)}."] if divided.modes else []
    lines += [_of_cause(cause) for cause in divided.causes if math.isfinite(cause.mean)]
    sees = f"{visible_words.gate(divided.limit)} sees, nine times out of ten"
    for minutes in dict.fromkeys(one[0] for one in divided.visible):
        each = [
            visible_words.worse(number, seen)
            for at, number, seen in divided.visible
            if at == minutes
        ]
        lines.append(f"In {minutes} minutes {sees}: {', '.join(each)}.")
    return [*lines, ""]


def _of_cause(cause: Cause) -> str:
    most = units.outward(100 * cause.most, 2, 1)
    text = f"{cause.name}: {cause.mean:.2%} of the time, at most {most:.2f}% of a run"
    if cause.explains is None:
        return f"{text}."
    sure = "" if cause.p <= 0.05 else ", which may be chance"
    return f"{text}; {cause.explains:.0%} of the scatter of p50 between runs goes with it{sure}."


def _size(sigma: float) -> str:
    return f"{math.expm1(sigma):.2%}"


def _ends(of: Component) -> str:
    return f"{_size(of.interval.lo)} to {_size(of.interval.hi)}"
