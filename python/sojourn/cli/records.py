"""`sojourn show`, `report`: what was measured, without measuring anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import answered, lowered
from sojourn.cli.options import RESULTS, AsJson, Export, RecordArgument, Results
from sojourn.cli.plain import put
from sojourn.errors import SpecFault

if TYPE_CHECKING:
    from sojourn.report.writers import Exports


def show(
    name: RecordArgument = None,
    results: Results = RESULTS,
    as_json: AsJson = False,
    export: Export = None,
) -> None:
    """Print the answer of a record again, as text; or a dump of `sojourn-trace --ring`.

    \b
    Examples:
      sojourn show
      sojourn show max_load_memcached
      sojourn show --json | jq '.services[].max_load.border.interval_rps'
      sojourn show --export markdown=answer.md --export csv=points.csv
      sojourn show ring-20261127T010838Z-001.json
    """
    from sojourn import report, store

    if name and _is_file(name):
        if export:
            raise SpecFault(
                "a dump is shown as text or JSON",
                at="--export",
                fix="write `sojourn open FILE --export html=page.html`, or `sojourn view FILE`",
            )
        from sojourn.cli import dump_show

        dump_show.show(Path(name), as_json=as_json)
        return
    exports = report.asked(export) if export else ()
    path = store.resolve(results, name)
    if exports:
        lowered.for_writing(exports[0][1].parent)
    else:
        lowered.for_reading(path)
    texts = store.Texts(path)
    if not exports and answered.is_put(texts, as_json=as_json):
        return

    from sojourn import pipeline
    from sojourn.questions import parts
    from sojourn.store import files

    findings = pipeline.findings_of(path)
    if exports:
        with files.readable(path, pipeline.STRANGE):
            report.export(findings, exports, parts())
    answered.put_anew(path, findings, texts, as_json=as_json)


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # no name of a file
        return False


def write(
    name: RecordArgument = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Every study of a campaign, and the page that lists them."),
    ] = False,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Also write every figure as SVG, PDF and PNG.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Write into this folder instead of the record. It is created. A name that ends in "
            ".html, .txt, .md, .csv, .json or .tex: write only this file.",
        ),
    ] = None,
    results: Results = RESULTS,
    export: Export = None,
) -> None:
    """Write the report of a record again: HTML, text, and every figure's numbers as CSV.

    With --pictures every figure is also written as SVG, PDF and PNG, which takes some seconds; for
    a paper, `.column` is 3.33 in wide and `.page` 7 in.
    This works on any machine, also years later, because a record has all that it needs.

    \b
    Examples:
      sojourn report
      sojourn report --pictures
      sojourn report --all --results campaign
      sojourn report --out /tmp/report
      sojourn report -o page.html
      sojourn report results/latency_vs_load/host/20260101T120000Z-a1b2
    """
    from sojourn import extras, report, store
    from sojourn.store import files

    if every and export:
        raise SpecFault(
            "--export is for one report, --all writes many",
            at="sojourn report",
            fix="give one of the two",
        )
    exports = report.asked(export) if export else ()
    if out is not None and not every and (form := report.form_of(out)):
        asked = (*report.asked([f"{form}={out}"]), *exports)
        _file(store.resolve(results, name), asked)
        return
    extras.require(extras.PICTURES if pictures else extras.PAGES)
    if every and out is not None:
        raise SpecFault(
            "--out is for one report, --all writes many",
            at="sojourn report",
            fix="give one of the two",
        )
    if every:
        from sojourn import campaign

        lowered.for_writing(results)
        for page in campaign.rewritten(campaign.read(results), has_pictures=pictures):
            put(str(page))
        return
    if out is not None:
        with files.disk_faults(out):
            out.mkdir(parents=True, exist_ok=True)
    path = store.resolve(results, name)
    lowered.for_writing(out or path)
    texts, at = store.Texts(path), out or path
    before = [] if exports else answered.written(texts, at, has_pictures=pictures)
    for page in before:
        put(str(page))
    if before:
        return

    from sojourn import pipeline
    from sojourn.questions import parts

    findings, pages = pipeline.written(path, out, has_pictures=pictures)
    answered.keep_all(path, findings, texts)
    answered.keep_written(texts, at, pages, has_pictures=pictures, has_answer=out is None)
    with files.readable(path, pipeline.STRANGE):
        report.export(findings, exports, parts())
    for page in [*pages, *(file for _, file in exports)]:
        put(str(page))


def _file(path: Path, exports: Exports) -> None:
    """Write only these files of a record."""
    from sojourn import pipeline, report
    from sojourn.questions import parts
    from sojourn.store import files

    lowered.for_writing(exports[0][1].absolute().parent)
    findings = pipeline.findings_of(path)
    with files.readable(path, pipeline.STRANGE):
        report.export(findings, exports, parts())
    for _, file in exports:
        put(str(file))
