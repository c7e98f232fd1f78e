"""Records in a results folder: begin one, resume one, read them."""

from __future__ import annotations

import json
import platform
import re
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn import __version__, disk, spec
from sojourn.errors import Fault, StoreFault
from sojourn.plan.left_out import LeftOut
from sojourn.spec import Study
from sojourn.store import files, lock
from sojourn.store.named import MANIFEST, POINTS
from sojourn.store.record import (
    COMPLETE,
    FORM,
    MAJOR,
    STUDY,
    OpenRecord,
    Record,
    keep_left_out,
)

# What must not change between the parts of one record, as it is written in `environment`.
IDENTITY = (("topology", "model"), ("kernel", "release"))


def prepare(results: Path) -> None:
    """Refuse a results folder that will not take a record, before anybody waits for a point.

    Raises:
        StoreFault: it cannot be made or written, or its disk is full.
    """
    with files.disk_faults(results.absolute()):
        results.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=results) as file:
            file.write(b"x")
    files.check_space(results)


def open_record(
    results: Path,
    study: Study,
    *,
    resume: bool = True,
    machine: str | None = None,
    manifest: Mapping[str, Any] | None = None,
    skipped: Sequence[LeftOut] = (),
) -> OpenRecord:
    """Begin a record, or go on with the unfinished one of the same study on the same machine.

    Args:
        results: folder of all results.
        study: resolved; a record of another profile or other overrides is another record.
        resume: False: always begin anew.
        machine: name of the folder; by default the host's name.
        manifest: what else `manifest.json` says: environment, placement, command, …
        skipped: combinations that this machine cannot host. A finished record of which some were
            skipped that it now can host is gone on with.

    Raises:
        StoreFault: it cannot be written, or a live process writes into it.
    """
    # Absolute: what the lab starts has working directories of its own.
    home = results.absolute() / study.name / plain(machine or platform.node() or "host")
    with files.disk_faults(home):
        home.mkdir(parents=True, exist_ok=True)
    _check_links(home)
    about = manifest or {}
    if resume and (path := _unfinished(home, study, about, skipped)):
        record = OpenRecord(path, lock.take(path))
        record.resumed(about)
        with files.disk_faults(path):
            (path / COMPLETE).unlink(missing_ok=True)
        keep_left_out(path, skipped)
        return record
    record = _begin(home, study, about)
    keep_left_out(record.path, skipped)
    return record


def _check_links(home: Path) -> None:
    """Refuse a way to the records that somebody else has laid.

    Raises:
        StoreFault: one of its folders is a link that belongs to another user.
    """
    for folder in (home, home.parent):
        if folder.is_symlink() and not disk.is_own(folder):
            raise StoreFault(
                f"this folder is a link that user {folder.lstat().st_uid} has made",
                at=str(folder),
                fix="remove the link, or give another folder with --results DIR",
            )


def plain(name: str) -> str:
    """A name that is safe as a folder's."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "host"


def _unfinished(
    home: Path, study: Study, about: Mapping[str, Any], skipped: Sequence[LeftOut]
) -> Path | None:
    text = spec.to_toml(study)
    still = {(one.service, one.levels) for one in skipped}
    for path in sorted(home.iterdir(), reverse=True):
        if path.is_symlink() or not disk.is_own(path):  # it lies elsewhere, or may be forged
            continue
        if (path / MANIFEST).is_file() and (path / STUDY).is_file():
            record = Record(path)  # a newer version is refused here, not overwritten
            is_ours = record.study_file == text and _is_same(record.manifest, about)
            if not is_ours:
                continue
            if not record.is_complete or any(
                (one.service, one.levels) not in still for one in record.skipped
            ):
                return path
    return None


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two manifests speak of the same processor and kernel: else points do not compare."""
    for part, key in IDENTITY:
        values = [_fact(manifest, part, key) for manifest in (one, other)]
        if None not in values and values[0] != values[1]:
            return False
    return True


def _fact(manifest: Mapping[str, Any], part: str, key: str) -> object:
    """One fact of an environment; None if it is not there, or in no form of the lab's."""
    result = (manifest.get("environment") or {}).get(part)
    return result.get(key) if isinstance(result, Mapping) else None


def _begin(home: Path, study: Study, manifest: Mapping[str, Any]) -> OpenRecord:
    now = datetime.now(UTC)
    path = home / f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
    with files.disk_faults(path):
        (path / POINTS).mkdir(parents=True)
    handle = lock.take(path)
    head = {
        "schema": f"{FORM}/{MAJOR}",
        "sojourn": __version__,
        "study": study.name,
        "machine": home.name,
        "started": now.isoformat(timespec="seconds"),
    }
    files.write_text(path / STUDY, spec.to_toml(study))
    files.write_text(path / MANIFEST, json.dumps({**manifest, **head}, indent=2) + "\n")
    return OpenRecord(path, handle)


def read(path: Path) -> Record:
    """A record, to be looked at."""
    return Record(path)


def last(results: Path, study: str) -> Record | None:
    """The newest complete record of a study on this machine; None without one that can be read."""
    home = results / study / plain(platform.node() or "host")
    for path in sorted(home.glob(f"*/{MANIFEST}"), reverse=True):
        try:
            record = Record(path.parent)
        except Fault:
            continue
        if record.is_complete:
            return record
    return None
