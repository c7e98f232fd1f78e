"""What became of each study: its line in `campaign.json` and on the page."""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sojourn import disk, pipeline, questions, report, store
from sojourn.campaign.planned import Planned, state_of
from sojourn.campaign.stored import Campaign
from sojourn.errors import BUG, Fault
from sojourn.findings.findings import Findings
from sojourn.report import index, not_measured
from sojourn.report.index import Entry
from sojourn.store import files
from sojourn.store.named import by_start

LOGS = "campaign-logs"


def summary_of(
    findings: Any, pages: Sequence[Path], path: Path, campaign: Campaign
) -> dict[str, Any]:
    """What the line says of a report that is written anew."""
    page = next((page for page in pages if page.suffix == ".html"), None)
    return {
        "verdict": str(findings.verdict),
        "answer": report.answer(findings, questions.parts()),
        **not_measured.of_entry(findings.left_out),
        "report": _within(campaign.folder, page) if page else "",
        "record": _within(campaign.folder, path),
    }


def answered(findings: Findings) -> dict[str, Any]:
    """How far the question of a study that was measured is answered."""
    state, settle = findings.state, findings.state.settle
    is_open = state.word == index.UNDECIDED
    return {
        "state": state.word,
        "done": state.done,
        "of": state.of,
        "unit": state.unit,
        "settle": settle.command if settle else "",
        "settle_s": settle.seconds if settle else 0.0,
        "reason": "; ".join(findings.reasons[:1]) if is_open else "",
    }


def measured(one: Planned, done: pipeline.Done, folder: Path) -> Entry:
    """The line of a study that was measured."""
    findings = done.findings
    page = next((page for page in done.pages if page.suffix == ".html"), None)
    return replace(
        one.entry,
        verdict=str(findings.verdict),
        answer=report.answer(findings, questions.parts()),
        points=len(findings.points),
        wall_s=findings.wall_s,
        **not_measured.of_entry(findings.left_out),
        record=_within(folder, done.path),
        report=_within(folder, page) if page else "",
        **answered(findings),
    )


def faulty(one: Planned, fault: Fault, folder: Path) -> Entry:
    """The line of a study that could not be measured, or not to its end."""
    entry = replace(one.entry, state=state_of(fault), reason=fault.what, fix=fault.fix)
    return _with_stored_points(entry, one, folder)


def unforeseen(one: Planned, error: Exception, folder: Path) -> Entry:
    """One line in the table; the trace lies in a file."""
    name = f"{one.whole.name}.txt"
    (folder / LOGS).mkdir(parents=True, exist_ok=True)
    text = "".join(traceback.format_exception(error))
    files.write_text(folder / LOGS / name, text)
    entry = replace(
        one.entry,
        state=index.FAILED,
        reason=f"unexpected error: {type(error).__name__}: {error}".splitlines()[0],
        fix=f"{BUG}; the trace is in {LOGS}/{name}",
        log=f"{LOGS}/{name}",
    )
    return _with_stored_points(entry, one, folder)


def _with_stored_points(entry: Entry, one: Planned, folder: Path) -> Entry:
    """The points that a study has in spite of its fault: its newest unfinished record.

    A campaign reads with all its rights. So a record of another user, or one behind a link, is not
    looked into; nor would the study go on with it.
    """
    every = (path.parent for path in (folder / one.whole.name).glob("*/*/manifest.json"))
    own = [path for path in every if disk.is_folder(path) and disk.is_own(path)]
    if not own:
        return entry
    try:
        record = store.read(max(own, key=by_start))
        outcomes = record.outcomes() if not record.is_complete else ()
    except Fault:
        return entry
    return replace(
        entry,
        points=len(outcomes),
        wall_s=sum(outcome.wall_s for outcome in outcomes),
        record=_within(folder, record.path) if outcomes else "",
    )


def _within(folder: Path, path: Path) -> str:
    return os.path.relpath(path, folder)
