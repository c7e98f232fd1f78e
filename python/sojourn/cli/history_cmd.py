"""`sojourn history`: all records of a study on a machine, and their steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import history_csv, history_records, lowered, named_file
from sojourn.cli.draw import named, new_table, to_stdout
from sojourn.cli.faults import say
from sojourn.cli.options import OUTPUT_PANEL, RESULTS, AsJson, Results
from sojourn.cli.plain import put_json
from sojourn.cli.share import ALPHA_LEAST, share
from sojourn.errors import Exit, SpecFault

if TYPE_CHECKING:
    from sojourn.analysis.history import History

WIDE_MOST = 3  # series of which the terminal shows every record
AS_COMPARED = {"p99.9": "p999"}  # what `sojourn compare` calls a number, and its name here

StudyName = Annotated[
    str | None,
    typer.Argument(
        metavar="[STUDY]",
        show_default=False,
        help="Name of a study, as `sojourn ls` shows it. By default that of the newest record.",
    ),
]
Machine = Annotated[
    str | None,
    typer.Option(
        "--machine",
        metavar="NAME",
        show_default="this machine, or the only one",
        help="Take the records of this machine. Records of different machines are never mixed.",
    ),
]
Numbers = Annotated[
    str,
    typer.Option(
        "--numbers",
        metavar="NAME,NAME",
        help="What is shown and watched: mean, p50, p99, p99.9 (or p999), cpu (CPU time per "
        "request), max (max load within the target).",
    ),
]
Only = Annotated[
    str,
    typer.Option(
        "--only",
        metavar="TEXT",
        show_default=False,
        help="Only series with this text in their name, such as '70 %' or 'memcached p99'.",
    ),
]
Alpha = Annotated[
    str,
    typer.Option(
        "--alpha",
        metavar="SHARE",
        help="Chance that a history without a change ever has one reported, however long.",
    ),
]
FromCsv = Annotated[
    Path | None,
    typer.Option(
        "--from-csv",
        metavar="FILE",
        show_default=False,
        help="Read a history from a CSV as Apache Otava reads it, instead of records.",
    ),
]
Csv = Annotated[
    Path | None,
    typer.Option(
        "--csv",
        metavar="FILE",
        rich_help_panel=OUTPUT_PANEL,
        help="Write the series as a CSV that Apache Otava reads.",
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", rich_help_panel=OUTPUT_PANEL, help="Write a page with pictures."
    ),
]


def history(
    study: StudyName = None,
    machine: Machine = None,
    numbers: Numbers = "mean,p99,cpu,max",
    only: Only = "",
    alpha: Alpha = "5%",
    from_csv: FromCsv = None,
    results: Results = RESULTS,
    as_json: AsJson = False,
    csv: Csv = None,
    html: Html = None,
) -> int:
    """When did a study's numbers change? All its records on one machine, in order of time.

    Each number is a series with intervals. Change points are past by a test that may be looked at
    after every commit: --alpha holds for histories of any length, over all series together. Commit
    and label are taken from CI's environment when a study is run, or from SOJOURN_COMMIT and
    SOJOURN_LABEL.

    Records that are not finished, that are damaged, or that were measured by other settings than
    the newest are left out and listed.

    Exit codes: 0 nothing is newly worse, 1 the newest record shows that a number became worse, 2
    the options are wrong, 3 there are too few records, 4 no record can be read.

    \b
    Examples:
      sojourn history
      sojourn history latency_vs_load --only 'p99 at 70 %'
      sojourn history latency_vs_load --html history.html --csv history.csv
      sojourn history --from-csv otava.csv --json | jq '.series[].changes'
    """
    from sojourn.analysis import history as series

    level = share(alpha, "--alpha", ALPHA_LEAST, 1.0)
    if from_csv is not None:
        if study or machine:
            raise SpecFault(
                "a CSV file has no studies and machines",
                at="sojourn history",
                fix="give STUDY, or --from-csv FILE",
            )
        past = history_csv.read(from_csv)
    else:
        out = next((path for path in (html, csv) if path is not None), None)
        if out is not None:
            lowered.for_writing(out.absolute().parent)
        else:
            lowered.for_reading(results)
        past = history_records.read(results, study, machine, _asked(numbers))
    past = _only(past, only)
    past = replace(past, series=series.with_changes(past.series, level), alpha=level)
    _write(past, csv, html)
    if as_json:
        _put_json(past)
    else:
        _print(past)
    for name, why in past.skipped:
        say(f"not in it: {name}: {why}")
    return _exit(past)


def _asked(text: str) -> list[str]:
    from sojourn.analysis.history import NUMBERS

    typed = [part.strip() for part in text.split(",") if part.strip()]
    names = [AS_COMPARED.get(name, name) for name in typed]
    strange = [name for name in names if name not in NUMBERS]
    if strange or not names:
        raise SpecFault(
            f"there is no number '{strange[0]}'" if strange else "no number is given",
            at="--numbers",
            fix=f"give some of {', '.join([*NUMBERS, *AS_COMPARED])}",
        )
    return list(dict.fromkeys(names))


def _only(past: History, text: str) -> History:
    if not text:
        return past
    chosen = tuple(one for one in past.series if text.casefold() in one.name.casefold())
    if not chosen:
        raise SpecFault(
            f"no series has '{text}' in its name",
            at="--only",
            fix=f"the first ones: {', '.join(one.name for one in past.series[:4]) or 'none'}",
        )
    return replace(past, series=chosen)


def _write(past: History, csv: Path | None, html: Path | None) -> None:
    from sojourn.report import history as shown

    if csv is not None:
        named_file.write(csv, history_csv.text(past))
        say(f"table: {csv}")
    if html is not None:
        named_file.write(html, shown.html(past))
        say(f"page: {html}")


def _put_json(past: History) -> None:
    from sojourn.report import history as shown

    table = {name: getattr(past, name) for name in past.__dataclass_fields__}
    put_json({"sentence": shown.sentence(past), "notes": shown.notes(past), **table})


def _print(past: History) -> None:
    from sojourn.report import history as shown

    console = to_stdout()
    if len(past.series) <= WIDE_MOST:
        table = new_table("time", "record", *(named(one.name) for one in past.series))
        for line in shown.of_records(past):
            table.add_row(*map(named, line))
        console.print(table)
    else:
        table = new_table(*shown.OF_SERIES)
        for line in shown.lines(past):
            table.add_row(*map(named, line))
        console.print(table)
    if rows := shown.changes(past):
        console.print()
        table = new_table(*shown.OF_CHANGES)
        for line in rows:
            table.add_row(*map(named, line))
        console.print(table)
    console.print(f"\n{named(shown.sentence(past))}")
    for note in shown.notes(past):
        say(note)


def _exit(past: History) -> int:
    from sojourn.report import history as shown
    from sojourn.stats.change_points import OLD_LEAST

    if not past.entries:
        return Exit.FAILED
    if len(past.entries) <= OLD_LEAST:
        return Exit.UNKNOWN
    return Exit.VIOLATED if shown.is_worse_now(past) else Exit.OK
