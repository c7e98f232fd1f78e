"""`sojourn ls`, `show`, `report`: what was measured, without measuring anything."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import typer

from sojourn.cli.draw import new_table, to_stdout
from sojourn.cli.options import RESULTS, AsJson, RecordArgument, Results
from sojourn.cli.plain import put_json
from sojourn.errors import StoreFault


def ls(results: Results = RESULTS, as_json: AsJson = False) -> None:
    """List the studies that can be run and the records there are.

    \b
    Examples:
      sojourn ls
      sojourn ls --json | jq -r '.records[] | select(.complete) | .path'
    """
    from sojourn import spec, store

    studies = [{"name": n, "question": spec.load(n, is_own=True).question} for n in spec.names()]
    records = [_facts(path) for path in store.records(results)]
    if as_json:
        put_json({"studies": studies, "records": records})
        return
    console = to_stdout()
    table = new_table()
    table.add_column("study", no_wrap=True)
    table.add_column("question")
    for study in studies:
        table.add_row(study["name"], study["question"])
    console.print(table)
    console.print()
    if not records:
        console.print(f"no records in {results} yet; begin with: sojourn run latency_vs_load")
        return
    table = new_table()
    for name in ("record", "profile", "points", "state"):
        table.add_column(name, justify="right" if name == "points" else "left", overflow="fold")
    for facts in records:
        table.add_row(*(str(facts[name]) for name in ("path", "profile", "points", "state")))
    console.print(table)


def _facts(path: Path) -> dict[str, object]:
    from sojourn import store

    try:
        record = store.read(path)
        points = len(record.outcomes())
    except StoreFault as fault:
        state, profile, points, is_complete = f"unreadable: {fault.what}", "", 0, False
    else:
        profile, is_complete = record.study.run.profile, record.is_complete
        running = "running" if store.is_live(path) else "unfinished"
        state = "complete" if is_complete else running
    return {
        "path": path, "profile": profile, "points": points, "state": state,
        "complete": is_complete,
    }  # fmt: skip


def show(name: RecordArgument = None, results: Results = RESULTS, as_json: AsJson = False) -> None:
    """Show what a study found, as text.

    \b
    Examples:
      sojourn show
      sojourn show max_load_memcached
      sojourn show --json | jq '.services[].max_load.interval_rps'
    """
    from sojourn import pipeline, report, store

    findings = pipeline.findings_of(store.resolve(results, name))
    if as_json:
        put_json(findings)
        return
    width = min(100, shutil.get_terminal_size((80, 24)).columns)
    typer.echo(report.text(findings, width, color=sys.stdout.isatty()))


def write(name: RecordArgument = None, results: Results = RESULTS) -> None:
    """Write the report of a record anew: HTML, and every figure as SVG, PDF and CSV.

    Needs no machine: a record can be carried anywhere and read years later.

    \b
    Examples:
      sojourn report
      sojourn report results/latency_vs_load/host/20260101T120000Z-a1b2
    """
    from sojourn import pipeline, report, store

    path = store.resolve(results, name)
    for page in report.write(pipeline.findings_of(path), path):
        typer.echo(str(page))
