"""`sojourn compare`: whether B is worse than A, measured in turn or by records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli import consent, in_turn, lowered
from sojourn.cli.draw import escape, new_table, to_stdout
from sojourn.cli.faults import say
from sojourn.cli.options import OUTPUT_PANEL, RESULTS, AsJson, Results
from sojourn.cli.patience import Force, Wait, patience
from sojourn.cli.plain import put, put_json
from sojourn.cli.run import Quiet
from sojourn.errors import Exit, SpecFault

if TYPE_CHECKING:
    from sojourn.analysis.comparison import Comparison
    from sojourn.findings.findings import Findings
    from sojourn.run import Patience
    from sojourn.spec import Study
    from sojourn.store import Record

ALPHA_LEAST = 1e-6
MOST = 8  # records on one page

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
    over restarts of the service. What differs between the machines and settings comes first. The
    records were measured at different times, so drift of the machine counts as a difference.

    Exit codes: 0 no difference or better, 1 worse, 2 the records or options are wrong, 3 it cannot
    be told from these runs, 4 something outside failed, 130 stopped.

    \b
    Examples:
      sojourn compare --command './old --port {port}' --command './new --port {port}'
      sojourn compare --service memcached --vary params.threads=1,2 --within 4m
      sojourn compare --url http://localhost:8001/ --url http://localhost:8002/ --rate 500
      sojourn compare 20260101T1200 20260102T1200
      sojourn compare old/ new/ --html comparison.html
      sojourn compare A B C --json | jq '.rows[].sides[].ratio'
    """
    limits = {
        "alpha": share(alpha, "--alpha", ALPHA_LEAST, 0.5),
        "same": share(same, "--same"),
    }
    sides = _sides(command or [], url or [], service, vary)
    if sides and records:
        raise SpecFault(
            "records and services cannot be compared with each other",
            at="sojourn compare",
            fix="give records, or --command, --url or --vary",
        )
    if sides:
        asked = in_turn.study(
            sides,
            rate=rate,
            measure_s=measure_s,
            connections=connections,
            compare={**limits, "blocks": in_turn.blocks_in(within, len(sides), measure_s)},
            name="compare",
        )
        typed = _typed(
            {"command": command, "url": url},
            {
                "service": service,
                "vary": vary,
                "rate": rate,
                "within": within,
                "measure-s": f"{measure_s:g}",
                "connections": str(connections),
                "alpha": alpha,
                "same": same,
            },
        )
        waits = patience(wait, None, is_forced=force)
        return _in_turn(asked, results, waits, typed, yes=yes, quiet=quiet, as_json=as_json)
    return _records(records or [], limits, results, across=across, as_json=as_json,
                    markdown=markdown, html=html)  # fmt: skip


def _sides(commands: list[str], urls: list[str], service: str, vary: str) -> list[dict[str, Any]]:
    """Services to measure; none if records are compared.

    Raises:
        SpecFault: they are not two or more, or given in several ways.
    """
    from sojourn.spec.sides import side_of, varied

    given = [*commands, *urls]
    if not (given or service or vary):
        return []
    where, fix = "sojourn compare", "give --command twice, --url twice, or one of them with --vary"
    if bool(commands) + bool(urls) + bool(service) > 1:
        raise SpecFault("services are given in several ways", at=where, fix=fix)
    each = [side_of(text) for text in given] or ([{"kind": service}] if service else [])
    if vary and len(each) == 1:
        try:
            each = varied(each[0], vary)
        except ValueError as error:
            raise SpecFault(str(error), at="--vary", fix="write params.threads=1,2") from None
    elif vary:
        raise SpecFault("--vary is about one service", at="--vary", fix=fix)
    if not 2 <= len(each) <= MOST:
        raise SpecFault(f"two to {MOST} services are compared, not {len(each)}", at=where, fix=fix)
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
    in_turn.say_visible(asked, results)
    done = in_turn.measured(asked, results, waits, command=command, is_quiet=quiet)
    if done is None:
        return Exit.INTERRUPTED
    return tell(done, as_json=as_json)


def _records(
    records: list[str],
    given: Mapping[str, float],
    results: Path,
    *,
    across: bool,
    as_json: bool,
    markdown: bool,
    html: Path | None,
) -> int:
    from sojourn.analysis import comparison
    from sojourn.report import comparison as shown
    from sojourn.stats.paired_ratio import Limits

    limits = Limits(alpha=given["alpha"], same=given["same"])
    if not 2 <= len(records) <= MOST:
        raise SpecFault(
            f"compare takes two to {MOST} records, not {len(records)}",
            at="sojourn compare",
            fix="sojourn ls    lists the records",
        )
    names, kept, found = _read(records, results, html)
    facts = [_facts(one) for one in kept]
    is_across = _check_machines(facts, is_allowed=across)
    said = comparison.compare(names, found, limits)
    if not shown.shared(said):
        raise SpecFault(
            f"the records have no service and load in common: {_has(names, found)}",
            at="sojourn compare",
            fix="compare records of one study, or of studies with equal loads",
        )
    said = replace(
        said,
        differences=comparison.differences(found, facts),
        is_across=is_across,
        unfinished=tuple(n for n, one in zip(names, kept, strict=True) if not one.is_complete),
    )
    if html is not None:
        _write(html, shown.html(said))
    if as_json:
        put_json({"sentence": shown.sentence(said), "notes": shown.notes(said), **_flat(said)})
    elif markdown:
        put(shown.markdown(said), has_end=False)
    else:
        _print(said)
    return _exit(said)


def share(text: str, option: str, least: float = 0.0, most: float = 10.0) -> float:
    """A share such as 1% or 0.01, above `least` and below `most`.

    Raises:
        SpecFault: it is none.
    """
    try:
        value = float(text.rstrip("% ")) / (100 if text.rstrip().endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not least < value < most:
        raise SpecFault(
            f"{option} is {text!r}, which is no share above {least:g} and below {most:g}",
            at=option,
            fix=f"give a share such as {option} 1%",
        )
    return value


def _read(
    names: list[str], results: Path, out: Path | None
) -> tuple[list[str], list[Record], list[Findings]]:
    """Names for people, records and findings; `out`: a file to write."""
    from sojourn import pipeline, store

    paths = [store.resolve(results, name) for name in names]
    if len(set(paths)) < len(paths):
        raise SpecFault(
            "a record is given twice; it is equal to itself",
            at="sojourn compare",
            fix="give different records; `sojourn ls` lists them",
        )
    if out is not None:
        lowered.for_writing(out.absolute().parent)
    else:  # once: what a process gave up it does not get back
        lowered.for_reading(next((path for path in paths if path.stat().st_uid), paths[0]))
    called = [path.name for path in paths]
    if len(set(called)) < len(called):
        called = [f"{path.parent.parent.name}/{path.name}" for path in paths]
    found = [pipeline.findings_of(path) for path in paths]
    return called, [store.read(path) for path in paths], found


def _facts(record: Record) -> dict[str, str]:
    from sojourn.record.machine import facts

    return facts(record)


def _check_machines(facts: list[dict[str, str]], *, is_allowed: bool) -> bool:
    """Whether the records are of different machines.

    Raises:
        SpecFault: they are, and nobody asked for that.
    """
    from sojourn.record.machine import MACHINE

    other = [what for what in MACHINE if len({table.get(what) for table in facts}) > 1]
    if other and not is_allowed:
        said = "; ".join(
            f"{what}: {' / '.join(table.get(what, 'not known') for table in facts)}"
            for what in other
        )
        raise SpecFault(
            f"the records are of different machines: {said}",
            at="sojourn compare",
            fix="compare records of one machine, or add --across-machines",
        )
    return bool(other)


def _has(names: list[str], found: list[Findings]) -> str:
    """What each record has."""
    each = (
        f"{name} has {', '.join(f'{s.service} at {len(s.points)} loads' for s in one.services[:3])}"
        for name, one in zip(names, found, strict=True)
    )
    return "; ".join(each)


def _flat(found: Comparison) -> dict[str, object]:
    return {name: getattr(found, name) for name in found.__dataclass_fields__}


def _print(found: Comparison) -> None:
    from sojourn.report import comparison as shown

    console = to_stdout()
    if found.differences:
        table = new_table("differs", *(letter for letter, _ in shown.letters(found)))
        for what, each in found.differences:
            table.add_row(escape(what), *map(escape, each))
        console.print(table)
        console.print()
    table = new_table(*map(escape, shown.columns(found)))
    for line in shown.lines(found):
        table.add_row(*map(escape, line))
    console.print(table)
    console.print(f"\n{escape(shown.sentence(found))}")
    for note in shown.notes(found):
        say(note)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SpecFault(
            f"cannot write: {error.strerror}", at=str(path), fix="give another file"
        ) from None
    say(f"page: {path}")


def _exit(found: Comparison) -> int:
    from sojourn.stats.paired_ratio import Judgement

    if found.judgement is Judgement.WORSE:
        return Exit.VIOLATED
    return Exit.UNKNOWN if found.judgement is Judgement.OPEN else Exit.OK
