"""Records in a results folder: begin one, resume one, read them."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import secrets
import stat
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn import __version__, disk, spec
from sojourn.errors import Fault, StoreFault
from sojourn.plan.left_out import LeftOut
from sojourn.plan.points import Outcome
from sojourn.spec import Study
from sojourn.spec.text import read_stored
from sojourn.store import files, lock, resumption
from sojourn.store.named import MANIFEST, POINTS, by_start, records_in
from sojourn.store.record import (
    COMPLETE,
    FORM,
    MAJOR,
    STUDY,
    OpenRecord,
    Record,
    keep_left_out,
)

_MODE, _OF_ROOT = 0o777, 0o755  # of folders, less the umask: no one else writes into root's


def prepare(results: Path) -> None:
    """Refuse a results folder that will not take a record, before anybody waits for a point.

    Raises:
        StoreFault: it cannot be made or written, its disk is full, or root would write into what
            somebody else could exchange.
    """
    _lay(results.absolute())
    with files.disk_faults(results.absolute()), tempfile.TemporaryFile(dir=results) as file:
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
    again: Callable[[Sequence[Outcome]], Sequence[Outcome]] = lambda _: (),
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
        again: of the outcomes of a record that is gone on with, those that no longer count,
            because their points are to be measured again.

    Raises:
        StoreFault: it cannot be written, a live process writes into it, or somebody else could put
            another folder in the place of one on the way.
    """
    # Absolute: what the lab starts has working directories of its own.
    home = _lay(results.absolute(), study.name, plain(machine or platform.node() or "host"))
    about = manifest or {}
    path, note = _unfinished(home, study, about, skipped) if resume else (None, "")
    if path is not None:
        with files.disk_faults(path):
            disk.claim(path)
        record = OpenRecord(path, lock.take(path))
        record.set_aside(again(record.outcomes()))
        record.resumed(about)
        with (
            files.disk_faults(path),
            disk.folder(path) as place,
            contextlib.suppress(FileNotFoundError),
        ):
            os.unlink(COMPLETE, dir_fd=place)
        keep_left_out(path, skipped)
        return record
    record = _begin(home, study, about)
    record.notes = (note,) if note else ()
    keep_left_out(record.path, skipped)
    return record


def _lay(results: Path, *names: str) -> Path:
    """Make folders, each in the one before, and refuse those that somebody else could exchange.

    Args:
        results: absolute. The user has named it: others than root may do so by anybody's link.
        names: of the folders in it, from the outermost on.

    Returns:
        The innermost one.

    Raises:
        StoreFault: one cannot be made, or is refused.
    """
    is_root, folder = os.geteuid() == 0, results
    for name in ("", *names):
        folder /= name
        with files.disk_faults(folder):
            folder.mkdir(_mode(), parents=True, exist_ok=True)
            why = _linked(folder) if name or is_root else ""
            why = why or (_shared(folder) if is_root else "")
        if why:
            raise StoreFault(
                f"this folder {why}, who could lead what is written elsewhere",
                at=str(folder),
                fix=f"name a folder that is not there yet, as with --results {results}/root, or "
                "give this one to root alone (chown root: and chmod go-w)"
                if is_root
                else "remove the link, or give another folder with --results DIR",
            )
    return folder


def _mode() -> int:
    return _OF_ROOT if os.geteuid() == 0 else _MODE


def _linked(folder: Path) -> str:
    """Why a link is not followed; "" if it is none, or the user's own or root's."""
    result = folder.lstat()
    if not stat.S_ISLNK(result.st_mode) or result.st_uid in {0, os.geteuid()}:
        return ""
    return f"is a link that user {result.st_uid} has made"


def _shared(folder: Path) -> str:
    """Why others may rename what root makes in a folder; "" if they may not.

    Who became root by sudo is no other: that user could run anything as root.
    """
    result = folder.stat()
    if result.st_uid not in {0, _named("SUDO_UID")}:
        return f"belongs to user {result.st_uid}"
    of_group = 0 if result.st_gid in {0, _named("SUDO_GID")} else stat.S_IWGRP
    is_shared = result.st_mode & (stat.S_IWOTH | of_group) and not result.st_mode & stat.S_ISVTX
    return "may be written by others" if is_shared else ""


def _named(variable: str) -> int:
    """The number of a user or group that sudo names; root's if it names none."""
    text = os.environ.get(variable, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def plain(name: str) -> str:
    """A name that is safe as a folder's."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "host"


def _unfinished(
    home: Path, study: Study, about: Mapping[str, Any], skipped: Sequence[LeftOut]
) -> tuple[Path | None, str]:
    """The newest record that is gone on with; without one, why the newest unfinished one is not."""
    text, note = spec.to_toml(study), ""
    still = {(one.service, one.levels) for one in skipped}
    every = sorted(home.iterdir(), key=by_start, reverse=True)
    for path in every:
        if path.is_symlink() or not disk.is_own(path):  # it lies elsewhere, or may be forged
            continue
        if (path / MANIFEST).is_file() and (path / STUDY).is_file():
            stored = read_stored(path / STUDY)
            if stored != text:  # perhaps of a version with other keys
                if path == every[0] and not (path / COMPLETE).is_file():
                    note = resumption.asks_otherwise(path, stored, text)
                continue
            record = Record(path)  # a newer version is refused here, not overwritten
            if resumption.differences(record.manifest, about):
                if not record.is_complete:
                    note = note or resumption.begun_anew(path, record.manifest, about)
                continue
            if not record.is_complete or any(
                (one.service, one.levels) not in still for one in record.skipped
            ):
                return path, ""
    return None, note


def _begin(home: Path, study: Study, manifest: Mapping[str, Any]) -> OpenRecord:
    now = datetime.now(UTC)
    path = home / f"{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
    with files.disk_faults(path):
        path.mkdir(_mode())
        disk.claim(path)
        disk.make_folder(path / POINTS)
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
    for path in sorted(records_in(home), key=by_start, reverse=True):
        try:
            record = Record(path)
        except Fault:
            continue
        if record.is_complete:
            return record
    return None
