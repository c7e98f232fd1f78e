"""`sojourn compare`: whether B is worse than A."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli import compare_records, consent, credentials, in_turn, turn_numbers
from sojourn.cli.options import OUTPUT_PANEL, RESULTS, AsJson, NoShield, Results
from sojourn.cli.patience import Force, Wait, patience
from sojourn.cli.run import Quiet
from sojourn.cli.share import ALPHA_LEAST, share
from sojourn.errors import Exit, SpecFault

if TYPE_CHECKING:
    from sojourn.run import Patience
    from sojourn.spec import Study

Records = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RECORD RECORD…]",
        show_default=False,
        help="Two to eight records: a folder, part of a record's name, or a study's name (its "
        "newest record). The first is the baseline.",
    ),
]
Alpha = Annotated[
    str,
    typer.Option(
        "--alpha",
        metavar="SHARE",
        help="Chance that any worse or better of the comparison is wrong, such as 1% or 0.01.",
    ),
]
Same = Annotated[
    str,
    typer.Option("--same", metavar="SHARE", help="Differences up to this are no difference."),
]
Commands = Annotated[
    list[str] | None,
    typer.Option(
        "--command",
        metavar="ARGV",
        show_default=False,
        rich_help_panel=in_turn.PANEL,
        help="Command that starts a service; write {port} for its port. Give it twice or more; the "
        "first is the baseline.",
    ),
]
Urls = Annotated[
    list[str] | None,
    typer.Option(
        "--url",
        metavar="URL",
        show_default=False,
        rich_help_panel=in_turn.PANEL,
        help="A service that runs already. Give it twice or more.",
    ),
]
Service = Annotated[
    str,
    typer.Option(
        "--service",
        metavar="KIND",
        show_default=False,
        rich_help_panel=in_turn.PANEL,
        help="With --vary: a service of `sojourn kinds`, instead of a command.",
    ),
]
VaryOne = Annotated[
    str,
    typer.Option(
        "--vary",
        metavar="KEY=LEVEL,LEVEL",
        show_default=False,
        rich_help_panel=in_turn.PANEL,
        help="Compare levels of one key of the service, such as params.threads=1,2. The first is "
        "the baseline.",
    ),
]
Across = Annotated[
    bool,
    typer.Option("--across-machines", help="Also compare records of different machines."),
]
Html = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", rich_help_panel=OUTPUT_PANEL, help="Write a page with one scale."
    ),
]
Markdown = Annotated[
    bool,
    typer.Option("--markdown", rich_help_panel=OUTPUT_PANEL, help="Write Markdown to stdout."),
]


def compare(
    records: Records = None,
    command: Commands = None,
    url: Urls = None,
    service: Service = "",
    vary: VaryOne = "",
    rate: in_turn.Rate = "",
    within: in_turn.Within = "10m",
    measure_s: in_turn.MeasureS = 2.0,
    connections: in_turn.Connections = 16,
    trace: in_turn.Trace = 0,
    target: in_turn.Target = "",
    numbers: in_turn.Numbers = "",
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
    alpha: Alpha = "1%",
    same: Same = "5%",
    across: Across = False,
    yes: consent.Yes = False,
    wait: Wait = "0s",
    force: Force = False,
    results: Results = RESULTS,
    as_json: AsJson = False,
    markdown: Markdown = False,
    html: Html = None,
    quiet: Quiet = False,
) -> int:
    """Is B worse than A? Measure services in turn, or compare records.

    With --command, --url or --vary, services are measured in turn. A block has one run of each from
    a fresh start, in random order. It first prints which change it can see in the time. It stops as
    soon as the answer is clear: its test may look after every block and keeps its error rate. The
    result is a record, which `sojourn show` and `report` read.

    With records, each number at each load is a ratio to that of the first record, with an interval
    over restarts of the service. Loads are equal in requests/s, not in shares of max RPS. What
    differs between the machines and settings comes first. The records were measured at different
    times, so drift of the machine counts as a difference.

    Exit codes: 0 no difference or better, 1 worse, 2 the records or options are wrong, 3 it cannot
    be decided from these runs, 4 something outside failed, 130 stopped.

    \b
    Examples:
      sojourn compare --command './old {port}' --command './new {port}'
      sojourn compare --service memcached --vary params.threads=1,2 --within 4m
      sojourn compare --url URL --url URL --numbers mean,max_rps
      sojourn compare --url http://[::1]:8001/ --url http://[::1]:8002/ --rate 500
      sojourn compare --url https://a/ --url https://b/ --auth bearer:env:TOKEN
      sojourn compare 20260101T1200 20260102T1200
      sojourn compare old/ new/ --html comparison.html
      sojourn compare A B C --json | jq '.rows[].sides[].ratio'
    """
    limits = {
        "alpha": share(alpha, "--alpha", ALPHA_LEAST, 0.5),
        "same": share(same, "--same"),
    }
    load = credentials.job_keys(
        insecure=insecure, ca_file=ca_file, cert=cert, key=key, auth=auth,
        method=method, header=header, body=body, body_file=body_file, query=query,
        option=option,
    )  # fmt: skip
    sides = _sides(command or [], url or [], service, vary, target, load)
    if numbers and not sides:
        raise SpecFault(
            "records are compared in every number that they have",
            at="--numbers",
            fix="leave it out, or give --command, --url or --vary",
        )
    if sides and records:
        raise SpecFault(
            "records and services cannot be compared with each other",
            at="sojourn compare",
            fix="give records, or --command, --url or --vary",
        )
    if sides:
        compared = turn_numbers.numbers_of(numbers, ",".join(turn_numbers.NUMBERS))
        measure_s = turn_numbers.run_s(measure_s, rate, compared)
        table = {
            **limits,
            "blocks": turn_numbers.blocks_in(within, len(sides), measure_s, compared),
            "numbers": compared,
            "trace": trace,
        }
        asked = in_turn.study(
            sides,
            table,
            name="compare",
            rate=rate,
            measure_s=measure_s,
            connections=connections,
            no_shield=no_shield,
        )
        typed = _typed(
            {"command": command, "url": url},
            {
                "service": service,
                "vary": vary,
                "target": target,
                "numbers": numbers,
                "rate": rate,
                "within": within,
                "measure-s": f"{measure_s:g}",
                "connections": str(connections),
                "alpha": alpha,
                "same": same,
                "trace": str(trace) if trace else "",
            },
        )
        typed += [*credentials.words(load), *(["--no-shield"] if no_shield else [])]
        waits = patience(wait, None, is_forced=force)
        return _in_turn(asked, table, results, waits, typed, yes=yes, quiet=quiet, as_json=as_json)
    return compare_records.compared(records or [], limits, results, across=across, as_json=as_json,
                    markdown=markdown, html=html)  # fmt: skip


def _sides(
    commands: list[str],
    urls: list[str],
    service: str,
    vary: str,
    target: str,
    load: Mapping[str, credentials.JobValue],
) -> list[dict[str, Any]]:
    """Services to measure; none if records are compared.

    Raises:
        SpecFault: they are not two or more, or given in several ways.
    """
    from sojourn.spec.sides import varied

    inputs = [*(("--command", text) for text in commands), *(("--url", text) for text in urls)]
    if not (inputs or service or vary or target or load):
        return []
    where, fix = "sojourn compare", "give --command twice, --url twice, or one of them with --vary"
    if bool(commands) + bool(urls) + bool(service) > 1:
        raise SpecFault("services are given in several ways", at=where, fix=fix)
    each = in_turn.services(inputs, target, load) or ([{"kind": service}] if service else [])
    if (name := vary.partition("=")[0].strip().removeprefix("load.")) in load:
        fix = "leave it out, or --vary"
        raise SpecFault("--vary has levels of it", at=credentials.option_of(name), fix=fix)
    if vary and len(each) == 1:
        try:
            each = varied(each[0], vary)
        except ValueError as error:
            raise SpecFault(str(error), at="--vary", fix="write params.threads=1,2") from None
    elif vary:
        raise SpecFault("--vary is about one service", at="--vary", fix=fix)
    if not 2 <= len(each) <= compare_records.MOST:
        raise SpecFault(
            f"two to {compare_records.MOST} services are compared, not {len(each)}",
            at=where,
            fix=fix,
        )
    return each


def _typed(many: Mapping[str, list[str] | None], once: Mapping[str, str]) -> list[str]:
    """The command line again, for the record."""
    words = ["compare"]
    for name, texts in many.items():
        for text in texts or ():
            words += [f"--{name}", text]
    for name, text in once.items():
        words += [f"--{name}", text] if text else []
    return words


def _in_turn(
    asked: Study,
    table: Mapping[str, Any],
    results: Path,
    waits: Patience,
    command: list[str],
    *,
    yes: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    from sojourn import run
    from sojourn.cli.run import tell

    run.refuse_others(asked, is_agreed=yes)
    in_turn.say_visible(asked, table, results)
    done = in_turn.measured(asked, results, waits, command=command, is_quiet=quiet)
    if done is None:
        return Exit.INTERRUPTED
    return tell(done, as_json=as_json)
