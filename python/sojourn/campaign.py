"""Many studies one after another: each in a record of its own, all in one folder with one page.

    survey → run: for each study check, measure, report … → index.html and campaign.json

A study that is skipped or fails does not end the others. What became of each is in
`campaign.json` as soon as it is known, so the same command goes on where it was stopped.
"""

from __future__ import annotations

import json
import os
import shlex
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import MISSING, asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn import disk, pipeline, plan, questions, report, run, spec, store
from sojourn.errors import BUG, AbsentFault, Exit, Fault, HostFault, StoreFault
from sojourn.findings.findings import Findings
from sojourn.host import Facts
from sojourn.plan import Rehearsal, left_out
from sojourn.report import index, not_measured
from sojourn.report.index import Entry
from sojourn.run import Held
from sojourn.samples import check_version
from sojourn.spec import Study
from sojourn.store import files
from sojourn.visible import own_command

FORM, MAJOR = "sojourn.campaign", 1
FILE, PAGE, LOGS = "campaign.json", "index.html", "campaign-logs"
DONE = (index.ANSWERED, index.IN_PART, index.UNDECIDED)
BUDGET_S = {"quick": 3600.0}  # of one `run --all`, unless it is said otherwise

Stage = Callable[["Planned", Sequence[Entry]], AbstractContextManager[pipeline.Watcher]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A study, held against this machine, before anything is measured.

    Attributes:
        name: as it was asked for.
        study: without what this machine cannot host.
        whole: as its file has it.
        ahead: its points; None where nothing of it can be measured.
        fault: why not.
    """

    name: str
    study: Study
    whole: Study
    held: Held
    ahead: Rehearsal | None
    fault: Fault | None = None

    @property
    def entry(self) -> Entry:
        """Its line before anything was measured."""
        return Entry(
            study=self.name,
            question=self.whole.question,
            planned=len(self.ahead.points) if self.ahead else 0,
            planned_s=self.ahead.wall_s if self.ahead else 0.0,
            **not_measured.of_entry(self.held.skipped),
            reason=self.fault.what if self.fault else "",
            mend=self.fault.fix if self.fault else "",
            state=_state(self.fault) if self.fault else index.WAITING,
        )


def survey(
    names: Sequence[str],
    facts: Facts,
    *,
    profile: str | None = None,
    sets: Sequence[str] = (),
    may: Callable[[str, Study], bool] = lambda *_: False,
) -> Iterator[Planned]:
    """Each study with what it would measure here; all are read before the first is reported.

    Args:
        names: of studies that come with the lab, or paths of files.
        facts: of the machine.
        profile: of all; None: each has its own.
        sets: `key=value` for every study.
        may: says of each study by its name whether it may ask services of other machines.

    Raises:
        SpecFault: one of them is wrong.
    """
    known = [
        spec.load(name, profile=profile, overrides=sets, asks=questions.PLANS.mistakes)
        for name in names
    ]
    allowed = [may(name, study) for name, study in zip(names, known, strict=True)]
    each = zip(names, known, allowed, strict=True)
    return (_planned(name, study, facts, asks_others=asks) for name, study, asks in each)


def _planned(name: str, study: Study, facts: Facts, *, asks_others: bool) -> Planned:
    if asks_others or all(target.is_here for target in run.targets(study)):
        held = run.hold(study, facts, questions.catalogue())
    else:
        held = run.hold(study, facts, questions.catalogue(), asks_others=False)
    here = left_out.without(study, held.skipped)
    fault: Fault | None = next(iter(held.faults), None)
    if held.is_empty and fault is None:
        fault = run.nothing_left(study, held.skipped)
    ahead = plan.rehearse(here, questions.PLANS) if fault is None else None
    return Planned(name=name, study=here, whole=study, held=held, ahead=ahead, fault=fault)


@dataclass(slots=True, kw_only=True)
class Campaign:
    """The folder of a campaign, and what became of each study so far.

    Attributes:
        folder: of all results, in which the records, `campaign.json` and the page lie.
        identity: what makes the same command the same campaign.
        command: that goes on with it.
        entries: in order.
    """

    folder: Path
    identity: Mapping[str, Any]
    command: str
    started: str
    entries: list[Entry]

    @property
    def page(self) -> Path:
        """Path of the one page that reports all studies."""
        return self.folder / PAGE

    @property
    def is_ended(self) -> bool:
        """Whether the same command would begin anew: nothing waits, and nothing failed."""
        return not any(
            entry.state in {index.WAITING, index.MEASURING, index.FAILED} for entry in self.entries
        )

    @property
    def exit(self) -> Exit:
        """0: all are answered, 3: nothing could be measured, 1: some are not, or only in part."""
        if all(entry.state == index.ANSWERED for entry in self.entries):
            return Exit.OK
        return Exit.VIOLATED if any(entry.points for entry in self.entries) else Exit.UNKNOWN

    def put(self, number: int, entry: Entry) -> None:
        """Keep what is known of one study now, and write the page."""
        self.entries[number] = entry
        self.write()

    def write(self) -> None:
        """Write the file and the page."""
        self.folder.mkdir(parents=True, exist_ok=True)
        table = {
            "schema": f"{FORM}/{MAJOR}",
            "identity": dict(self.identity),
            "command": self.command,
            "started": self.started,
            "entries": [asdict(entry) for entry in self.entries],
        }
        files.write_text(self.folder / FILE, json.dumps(table, indent=2) + "\n")
        html = index.html(
            self.entries,
            profile=str(self.identity.get("profile") or ""),
            command=self.command,
            started=self.started,
        )
        files.write_text(self.page, html)


def opened(
    folder: Path,
    planned: Sequence[Planned],
    *,
    identity: Mapping[str, Any],
    command: str,
    is_new: bool = False,
) -> Campaign:
    """The campaign that the same command began and did not end, or a new one."""
    campaign = None if is_new else _read(folder)
    fresh = [one.entry for one in planned]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    if campaign is None or campaign.is_ended or campaign.identity != identity:
        return Campaign(
            folder=folder, identity=identity, command=command, started=now, entries=fresh
        )
    selected = {entry.study: entry for entry in campaign.entries if entry.state in DONE}
    campaign.entries = [selected.get(entry.study, entry) for entry in fresh]
    return campaign


def read(folder: Path) -> Campaign:
    """The campaign of a folder, to be looked at.

    Raises:
        StoreFault: there is none, or its file cannot be read.
    """
    campaign = _read(folder)
    if campaign is None:
        raise StoreFault(
            "there is no campaign in this folder",
            at=str(folder.absolute()),
            fix="begin with `sojourn run --all`, or name its folder with --results DIR",
        )
    return campaign


def _read(folder: Path) -> Campaign | None:
    file = folder / FILE
    if not file.is_file():
        return None
    try:
        table = disk.read_json(file)
        check_version(table, FORM, MAJOR, at=file)
        return Campaign(
            folder=folder,
            identity=dict(table["identity"]),
            command=own_command(str(table["command"])),
            started=str(table["started"]),
            entries=_entries(table["entries"]),
        )
    except (OSError, *files.DAMAGE) as error:
        raise StoreFault(
            f"the campaign cannot be read: {error}",
            at=str(file),
            fix="remove this file: the records stay, and the next run begins a campaign",
        ) from None


def _entries(rows: Any) -> list[Entry]:
    if not isinstance(rows, list):
        raise TypeError("its entries are no list")
    return [_entry(row) for row in rows]


def _entry(row: Mapping[str, Any]) -> Entry:
    """A row of the file; ValueError if the lab does not write such. Paths lead nowhere else."""
    inputs = {field.name: row[field.name] for field in fields(Entry) if field.name in row}
    inputs["left_out"] = tuple(map(str, inputs.get("left_out", ())))
    inputs.setdefault("left_count", len(inputs["left_out"]))
    entry = Entry(**inputs)
    for field in fields(Entry):
        value, usual = getattr(entry, field.name), field.default
        kinds = (
            (int, float) if isinstance(usual, float) else str if usual is MISSING else type(usual)
        )
        if not isinstance(value, kinds):
            raise TypeError(f"{field.name} of a study is {value!r}")
    if entry.state not in index.STATES:
        raise ValueError(f"a study has the state '{entry.state}'")
    record, page, log = (
        path if index.is_below(path) else "" for path in (entry.record, entry.report, entry.log)
    )
    settle = own_command(entry.settle)
    return replace(entry, record=record, report=page, log=log, settle=settle)


def _is_record(folder: Path, record: str) -> bool:
    """Whether it is a folder below `folder` that no link leads to."""
    parts = Path(record).parts
    ways = (folder.joinpath(*parts[: n + 1]) for n in range(len(parts)))
    return bool(parts) and index.is_below(record) and all(map(disk.is_folder, ways))


def measure(
    campaign: Campaign,
    planned: Sequence[Planned],
    stage: Stage,
    *,
    patience: run.Patience,
    is_new: bool = False,
    within_s: float | None = None,
) -> None:
    """Measure what is not measured yet, study by study; each is told as soon as it is known.

    Args:
        campaign: what is known so far.
        planned: its studies, in order.
        stage: shows the study that is measured.
        patience: how long others are waited for.
        is_new: whether records that are not complete are left as they are.
        within_s: a study that would end later than this, counted from now and as planned, waits for
            the next call; the first is begun in any case. None: all are measured.
    """
    campaign.write()
    began_s, is_first = time.monotonic(), True
    for number, one in enumerate(planned):
        if campaign.entries[number].state in DONE or one.fault is not None:
            continue
        gone_s = time.monotonic() - began_s
        if within_s is not None and not is_first and gone_s + one.entry.planned_s > within_s:
            continue
        is_first = False
        campaign.put(number, replace(one.entry, state=index.MEASURING))
        try:
            with stage(one, campaign.entries) as watcher:
                done = pipeline.run_study(
                    one.whole,
                    campaign.folder,
                    watcher,
                    resume=not is_new,
                    command=_command_of(one, campaign),
                    patience=patience,
                )
            entry = _done(one, done, campaign.folder)
        except Fault as fault:
            entry = _faulty(one, fault, campaign.folder)
        except Exception as error:  # noqa: BLE001 - one study must not end the others
            entry = _unforeseen(one, error, campaign.folder)
        campaign.put(number, entry)


def rewritten(campaign: Campaign, *, has_pictures: bool = False) -> Iterator[Path]:
    """Write every report of a campaign anew, and its page; gives their paths."""
    for number, entry in enumerate(campaign.entries):
        path = campaign.folder / entry.record
        if _is_record(campaign.folder, entry.record):
            findings, pages = pipeline.written(path, has_pictures=has_pictures)
            now = _summary_of(findings, pages, path, campaign)
            if entry.state in DONE:  # what one that failed left behind decides nothing
                now |= _answered(findings)
            campaign.entries[number] = replace(entry, **now)
            yield from (page for page in pages if page.suffix == ".html")
    campaign.write()
    yield campaign.page


def _summary_of(
    findings: Any, pages: Sequence[Path], path: Path, campaign: Campaign
) -> dict[str, Any]:
    page = next((page for page in pages if page.suffix == ".html"), None)
    return {
        "verdict": str(findings.verdict),
        "answer": report.answer(findings, questions.parts()),
        **not_measured.of_entry(findings.left_out),
        "report": _within(campaign.folder, page) if page else "",
        "record": _within(campaign.folder, path),
    }


def _answered(findings: Findings) -> dict[str, Any]:
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


def _done(one: Planned, done: pipeline.Done, folder: Path) -> Entry:
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
        **_answered(findings),
    )


def _faulty(one: Planned, fault: Fault, folder: Path) -> Entry:
    entry = replace(one.entry, state=_state(fault), reason=fault.what, mend=fault.fix)
    return _with_stored_points(entry, one, folder)


def _unforeseen(one: Planned, error: Exception, folder: Path) -> Entry:
    """One line in the table; the trace lies in a file."""
    name = f"{one.whole.name}.txt"
    (folder / LOGS).mkdir(parents=True, exist_ok=True)
    text = "".join(traceback.format_exception(error))
    files.write_text(folder / LOGS / name, text)
    entry = replace(
        one.entry,
        state=index.FAILED,
        reason=f"unexpected error: {type(error).__name__}: {error}".splitlines()[0],
        mend=f"{BUG}; the trace is in {LOGS}/{name}",
        log=f"{LOGS}/{name}",
    )
    return _with_stored_points(entry, one, folder)


def _with_stored_points(entry: Entry, one: Planned, folder: Path) -> Entry:
    """The points that a study has in spite of its fault: its newest unfinished record."""
    paths = sorted((folder / one.whole.name).glob("*/*/manifest.json"), key=lambda p: p.parent.name)
    if not paths:
        return entry
    try:
        record = store.read(paths[-1].parent)
        outcomes = record.outcomes() if not record.is_complete else ()
    except Fault:
        return entry
    return replace(
        entry,
        points=len(outcomes),
        wall_s=sum(outcome.wall_s for outcome in outcomes),
        record=_within(folder, record.path) if outcomes else "",
    )


def _state(fault: Fault) -> str:
    return index.SKIPPED if isinstance(fault, HostFault | AbsentFault) else index.FAILED


def _within(folder: Path, path: Path) -> str:
    return os.path.relpath(path, folder)


def _command_of(one: Planned, campaign: Campaign) -> str:
    """The command that measures this study alone."""
    is_elsewhere = not all(target.is_here for target in run.targets(one.whole))
    parts = ["sojourn", "run", one.name, *(["--yes"] if is_elsewhere else [])]
    profile = campaign.identity["profile"]
    parts += ["--profile", str(profile)] if profile else []
    for text in campaign.identity["sets"]:
        parts += ["--set", text]
    parts += ["--results", str(campaign.folder)]
    return shlex.join(parts)
