"""Which records `sojourn history` takes, and why others are left out."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.errors import Fault, StoreFault

if TYPE_CHECKING:
    from sojourn.analysis.history import History
    from sojourn.store import Record

KEYS_MOST = 3  # that a reason names


@dataclass(frozen=True, slots=True)
class Chosen:
    """The records of one study on one machine, oldest first, and what was left out."""

    study: str
    machine: str
    records: Sequence[Record]
    skipped: Sequence[tuple[str, str]]


def read(results: Path, study: str | None, machine: str | None, numbers: Sequence[str]) -> History:
    """The history of a study, without changes.

    Args:
        results: folder of results.
        study: its name; None: that of the newest record.
        machine: name of its folder; None: this machine, or the only one there is.
        numbers: names of what is shown.

    Raises:
        StoreFault: there is no such record.
    """
    from sojourn import pipeline
    from sojourn.analysis import history

    chosen = _chosen(results, study, machine)
    judged, entries, skipped = [], [], list(chosen.skipped)
    for record in chosen.records:
        try:
            one = pipeline.judged(record.path)
        except Fault as fault:
            skipped.append((record.path.name, fault.what))
            continue
        if not history.series_of([one], numbers):
            skipped.append((record.path.name, "it has none of the numbers"))
            continue
        judged.append(one)
        entries.append(history.entry(record.path.name, record.manifest))
    return history.History(
        study=chosen.study,
        machine=chosen.machine,
        entries=tuple(entries),
        series=tuple(history.series_of(judged, numbers)),
        skipped=tuple(sorted(skipped)),
        axes=history.axes_of(judged),
    )


def _chosen(results: Path, study: str | None, machine: str | None) -> Chosen:
    from sojourn.store import listing
    from sojourn.store.named import by_start

    every = sorted(listing.own(results), key=by_start)
    if not every:
        raise StoreFault(
            "there is no record yet", at=str(results.absolute()), fix="begin with `sojourn run`"
        )
    name = study or every[-1].parents[1].name
    of_study = [path for path in every if path.parents[1].name == name]
    if not of_study:
        known = ", ".join(sorted({path.parents[1].name for path in every}))
        raise StoreFault(
            f"there is no record of a study '{name}'",
            at=str(results.absolute()),
            fix=f"give one of {known}",
        )
    folder = _folder(sorted({path.parent.name for path in of_study}), machine, name, results)
    others = [path for path in of_study if path.parent.name != folder]
    here, skipped = _readable([path for path in of_study if path.parent.name == folder])
    alike, unlike = _alike(here)
    away = [(path.name, f"another machine: {path.parent.name}") for path in others]
    return Chosen(name, folder, alike, [*skipped, *unlike, *away])


def _folder(names: Sequence[str], asked: str | None, study: str, results: Path) -> str:
    from sojourn.store.find import plain

    name = asked or plain(platform.node() or "host")
    if name in names:
        return name
    if not asked and len(names) == 1:
        return names[0]
    raise StoreFault(
        f"there is no record of {study} on machine '{name}'",
        at=str(results.absolute()),
        fix=f"give --machine {' or '.join(names)}",
    )


def _readable(paths: Sequence[Path]) -> tuple[list[Record], list[tuple[str, str]]]:
    from sojourn import store
    from sojourn.store import files
    from sojourn.store.record import OF_RECORD

    records, skipped = [], []
    for path in paths:
        try:
            with files.readable(path, OF_RECORD):
                record = store.read(path)
        except Fault as fault:
            skipped.append((path.name, fault.what))
            continue
        if record.is_complete:
            records.append(record)
        else:
            skipped.append((path.name, "it is not finished"))
    return records, skipped


def _alike(records: Sequence[Record]) -> tuple[list[Record], list[tuple[str, str]]]:
    """Those that were measured on the machine and by the settings of the newest one."""
    from sojourn.analysis.comparison_settings import differing
    from sojourn.record import machine

    alike: list[Record] = []
    skipped: list[tuple[str, str]] = []
    if not records:
        return alike, skipped
    newest = records[-1]
    here = machine.facts(newest)
    for record in records:
        there = machine.facts(record)
        other = [
            f"{what}: {there.get(what, 'not known')} / {here.get(what, 'not known')}"
            for what in machine.MACHINE
            if here.get(what) != there.get(what)
        ]
        keys = list(differing(record.study, newest.study))
        if other:
            skipped.append((record.path.name, f"another machine: {'; '.join(other)}"))
        elif keys:
            more = f" and {len(keys) - KEYS_MOST} more" if len(keys) > KEYS_MOST else ""
            named = ", ".join(keys[:KEYS_MOST])
            skipped.append((record.path.name, f"other settings than the newest: {named}{more}"))
        else:
            alike.append(record)
    return alike, skipped
