"""`sojourn compare`: whether B is worse than A."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import lowered
from sojourn.cli.draw import escape, new_table, to_stdout
from sojourn.cli.faults import say
from sojourn.cli.options import OUTPUT_PANEL, RESULTS, AsJson, Results
from sojourn.cli.plain import put, put_json
from sojourn.errors import Exit, SpecFault

if TYPE_CHECKING:
    from sojourn.analysis.comparison import Comparison
    from sojourn.findings.findings import Findings
    from sojourn.store import Record

ALPHA_LEAST = 1e-6
MOST = 8  # records on one page

Records = Annotated[
    list[str],
    typer.Argument(
        metavar="RECORD RECORD…",
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
    records: Records,
    alpha: Alpha = "1%",
    same: Same = "5%",
    across: Across = False,
    results: Results = RESULTS,
    as_json: AsJson = False,
    markdown: Markdown = False,
    html: Html = None,
) -> int:
    """Compare records: each number at each load as a ratio to that of the first record.

    Numbers are mean, p50, p99, p99.9, CPU time per request and the highest load within the target.
    The interval of a ratio is over restarts of the service. What differs between the machines and
    settings comes first. The records were measured at different times, so drift of the machine
    counts as a difference.

    Exit codes: 0 no difference or better, 1 worse, 2 the records cannot be compared, 3 it cannot be
    told from these runs, 4 a record cannot be read.

    \b
    Examples:
      sojourn compare 20260101T1200 20260102T1200
      sojourn compare old/ new/ --html comparison.html
      sojourn compare A B C --json | jq '.rows[].sides[].ratio'
    """
    from sojourn.analysis import comparison
    from sojourn.report import comparison as shown
    from sojourn.stats.paired_ratio import Limits

    if not 2 <= len(records) <= MOST:
        raise SpecFault(
            f"compare takes two to {MOST} records, not {len(records)}",
            at="sojourn compare",
            fix="sojourn ls    lists the records",
        )
    limits = Limits(alpha=share(alpha, "--alpha", ALPHA_LEAST, 0.5), same=share(same, "--same"))
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
