"""`sojourn open`: result files of other load tools, and records beside them."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import lowered
from sojourn.cli.options import OUTPUT_PANEL, RESULTS, AsJson, Results
from sojourn.cli.plain import put, put_json
from sojourn.errors import SpecFault, StoreFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sojourn.importers import Options
    from sojourn.report.opened import Side
    from sojourn.report.writers import Exports

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE…",
        show_default=False,
        help="Result files. A record is a folder or a name, as for `sojourn show`.",
    ),
]
Form = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        show_default=False,
        help="Format of the files, instead of what their first bytes look like. `list` shows all.",
    ),
]
Unit = Annotated[
    str,
    typer.Option(
        "--unit",
        metavar="UNIT",
        show_default="ns",
        help="Unit of times in HdrHistogram logs: ns, us, ms or s. They do not say it.",
    ),
]
Export = Annotated[
    list[str] | None,
    typer.Option(
        "--export",
        metavar="FORMAT=FILE",
        show_default=False,
        rich_help_panel=OUTPUT_PANEL,
        help="Also write a file: html, text, json, csv or markdown. May be repeated.",
    ),
]
MOST = 26  # series: letters name them
ROOM = 3  # series with intervals that fit beside each other
FILE = "name a file that exists, or a record that `sojourn ls` lists"
UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def open_(
    names: Names = None,
    form: Form = "",
    unit: Unit = "",
    export: Export = None,
    results: Results = RESULTS,
    every: Annotated[
        bool,
        typer.Option(
            "--all", rich_help_panel=OUTPUT_PANEL, help="Also each load of a record by itself."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Read results of k6, wrk, vegeta and others, and show what they can and cannot say.

    Each quantile has an interval where the file has single requests or a histogram, and none where
    its tool printed only a number. A dash means that the file cannot carry it. Beside it is from
    when it was measured and what made the load. Failed requests are counted apart.

    Several files, and records of this lab, are put in one table and on one plot. Each file follows
    by itself, and with --all each load of a record.

    \b
    Examples:
      sojourn open k6.json
      sojourn open wrk.txt vegeta.json --export html=page.html
      sojourn open k6.json latency_vs_load
      sojourn open times.log --format hdr-log --unit us
      sojourn open --format list
    """
    from sojourn import importers, report
    from sojourn.report import opened_file, opened_writers

    if form == "list":
        for one in importers.FORMATS.values():
            put(f"{one.name:18} {one.about}")
        return
    if unit and unit not in UNITS:
        raise SpecFault(f"'{unit}' is no unit", at="--unit", fix=f"use {', '.join(UNITS)}")
    if not names:
        raise SpecFault(
            "no file is given",
            at="sojourn open",
            fix="name a result file; `sojourn open --format list` shows which can be read",
        )
    exports = report.asked(export or ())
    opened_writers.check(exports)
    paths = [_path(name, results) for name in names]
    _lower(paths, exports)
    sides = _sides(paths, form, importers.Options(unit_ns=UNITS.get(unit)))
    opened_writers.export(sides, exports)
    if as_json:
        put_json(opened_file.table(sides))
    else:
        _print(sides, is_whole=every)


def _path(name: str, results: Path) -> Path:
    """A file, or the folder of a record.

    Raises:
        SpecFault: there is neither.
    """
    from sojourn import store

    with contextlib.suppress(OSError, ValueError):  # no name of a file
        if Path(name).exists() and not Path(name).is_dir():
            return Path(name)
    try:
        return store.resolve(results, name)
    except (StoreFault, OSError, ValueError) as error:
        fix = error.fix if isinstance(error, StoreFault) and not Path(name).suffix else FILE
        what = f"there is neither a file nor a record '{name[:200]}'"
        raise SpecFault(what, at="sojourn open", fix=fix) from None


def _lower(paths: Sequence[Path], exports: Exports) -> None:
    """Before the first byte of a stranger's file is read."""
    if exports:
        lowered.for_writing(exports[0][1].absolute().parent)
    else:  # once: what a process gave up it does not get back
        lowered.for_reading(next((path for path in paths if path.stat().st_uid), paths[0]))


def _sides(paths: Sequence[Path], form: str, options: Options) -> list[Side]:
    sides: list[Side] = []
    for path in paths:
        is_record = path.is_dir()
        read = _of_record(path, len(sides)) if is_record else _of_file(path, form, options, sides)
        sides += read
        if len(sides) > MOST:
            raise SpecFault(
                f"there are more than {MOST} series", at=str(path), fix="open fewer files at once"
            )
    return sides


def _of_file(path: Path, form: str, options: Options, before: Sequence[Side]) -> list[Side]:
    from sojourn import importers
    from sojourn.report import opened

    kind, series = importers.read(path, form, options)
    return [
        opened.of_series(
            opened.letter(len(before) + number),
            f"{path.name} {one.name}".rstrip(),
            kind.name,
            one,
        )
        for number, one in enumerate(series)
    ]


def _of_record(path: Path, first: int) -> list[Side]:
    """Each load of a record of this lab."""
    from sojourn import pipeline
    from sojourn.report import opened, show
    from sojourn.store import files

    findings = pipeline.findings_of(path)
    loads = [(service, point) for service in findings.services for point in service.points]
    if not loads:
        raise SpecFault("the record has no load", at=str(path), fix="open a record with a sweep")
    with files.readable(path, pipeline.STRANGE):
        return [
            opened.of_point(
                opened.letter(first + number),
                f"{service.service} at {show.load(point.fraction)} of max RPS",
                point,
            )
            for number, (service, point) in enumerate(loads)
        ]


def _print(sides: Sequence[Side], *, is_whole: bool) -> None:
    """The comparison first, then each side by itself; loads of a record only if asked for."""
    from sojourn.cli.draw import escape, new_table, to_stdout
    from sojourn.report import opened, opened_writers

    console = to_stdout()

    def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
        made = new_table(*map(escape, head))
        for line in lines:
            made.add_row(*map(escape, line))
        console.print(made)

    if len(sides) > 1:
        table(*(opened.side_by_side(sides) if len(sides) <= ROOM else opened.compact(sides)))
        for sentence in opened.caveats(sides):
            console.print(escape(sentence))
    loads = [] if is_whole else [side for side in sides if side.is_load]
    if len(loads) == len(sides):  # nothing else is asked for than the loads of one record
        loads = []
    for side in (side for side in sides if side not in loads):
        console.print(f"\n[bold]{escape(side.heading)}[/]")
        table(opened.COLUMNS, opened.rows(side))
        for sentence in opened_writers.meaning(side):
            console.print(f"[dim]- {escape(sentence)}[/]")
    if loads:
        console.print(f"\n{len(loads)} loads of records are in the table alone; --all has each.")
