"""What is known of a campaign so far: its folder, `campaign.json` and the page.

What became of each study is written as soon as it is known, so the same command goes on where it
was stopped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn import disk, spec
from sojourn.campaign.planned import Planned
from sojourn.errors import Exit, SpecFault, StoreFault
from sojourn.plan.left_out import OLD_FIX
from sojourn.report import index
from sojourn.report.index import Entry
from sojourn.samples import check_version
from sojourn.spec.text import read_stored
from sojourn.store import files
from sojourn.store.record import STUDY
from sojourn.visible import own_command

FORM, MAJOR = "sojourn.campaign", 1
FILE, PAGE = "campaign.json", "index.html"
DONE = (index.ANSWERED, index.IN_PART, index.UNDECIDED)


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
    done = {entry.study: entry for entry in campaign.entries if entry.state in DONE}
    campaign.entries = [
        done[one.name] if one.name in done and _answers(folder, done[one.name], one) else entry
        for one, entry in zip(planned, fresh, strict=True)
    ]
    return campaign


def _answers(folder: Path, entry: Entry, asked: Planned) -> bool:
    """Whether an entry is of the study as it is now: its file may have changed meanwhile."""
    file = folder / entry.record / STUDY
    if not entry.record or not disk.is_plain(file):  # removed since: what it said is still there
        return True
    try:
        return read_stored(file) == spec.to_toml(asked.whole)
    except SpecFault:
        return False


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
    inputs.setdefault("fix", row.get(OLD_FIX, ""))
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
