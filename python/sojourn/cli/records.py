"""`sojourn show`, `report`: what was measured, without measuring anything."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli import lowered
from sojourn.cli.options import RESULTS, AsJson, Export, RecordArgument, Results
from sojourn.cli.plain import put, put_json, put_page
from sojourn.errors import SpecFault


def show(
    name: RecordArgument = None,
    results: Results = RESULTS,
    as_json: AsJson = False,
    export: Export = None,
) -> None:
    """Print the answer of a record again, as text.

    \b
    Examples:
      sojourn show
      sojourn show max_load_memcached
      sojourn show --json | jq '.services[].max_load.border.interval_rps'
      sojourn show --export markdown=answer.md --export csv=points.csv
    """
    from sojourn import pipeline, report, store
    from sojourn.questions import flat, parts
    from sojourn.store import files

    exports = report.asked(export or ())
    path = store.resolve(results, name)
    if exports:
        lowered.for_writing(exports[0][1].parent)
    else:
        lowered.for_reading(path)
    findings = pipeline.findings_of(path)
    with files.readable(path, pipeline.STRANGE):
        report.export(findings, exports, parts())
    if as_json:
        put_json(flat(findings))
        return
    width = min(100, shutil.get_terminal_size((80, 24)).columns)
    with files.readable(path, pipeline.STRANGE):
        page = report.text(findings, parts(), width, color=sys.stdout.isatty())
    put_page(page)


def write(
    name: RecordArgument = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Every study of a campaign, and the page that lists them."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write into this folder instead of the record. It is created."
        ),
    ] = None,
    results: Results = RESULTS,
    export: Export = None,
) -> None:
    """Write the report of a record again: HTML, and every figure as SVG, PDF and CSV.

    This works on any machine, also years later, because a record has all that it needs.

    \b
    Examples:
      sojourn report
      sojourn report --all --results campaign
      sojourn report --out /tmp/report
      sojourn report results/latency_vs_load/host/20260101T120000Z-a1b2
    """
    from sojourn import campaign, pipeline, report, store
    from sojourn.questions import parts
    from sojourn.store import files

    if every and export:
        raise SpecFault(
            "--export is for one report, --all writes many",
            at="sojourn report",
            fix="give one of the two",
        )
    exports = report.asked(export or ())

    if every and out is not None:
        raise SpecFault(
            "--out is for one report, --all writes many",
            at="sojourn report",
            fix="give one of the two",
        )
    if every:
        lowered.for_writing(results)
        for page in campaign.rewritten(campaign.read(results)):
            put(str(page))
        return
    if out is not None:
        with files.disk_faults(out):
            out.mkdir(parents=True, exist_ok=True)
    path = store.resolve(results, name)
    lowered.for_writing(out or path)
    findings, pages = pipeline.written(path, out)
    with files.readable(path, pipeline.STRANGE):
        report.export(findings, exports, parts())
    for page in [*pages, *(file for _, file in exports)]:
        put(str(page))
