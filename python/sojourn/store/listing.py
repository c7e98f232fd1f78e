"""All records of a results folder in short, newest first; sizes as they are on disk.

Links are not followed: a record that is linked into the folder lies, and counts, elsewhere.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn import disk
from sojourn.errors import Fault
from sojourn.samples.names import RAW
from sojourn.store import copied, files
from sojourn.store.lock import is_live
from sojourn.store.named import OUTCOME, POINTS, by_start, check_folder, records
from sojourn.store.profiles import Profiles
from sojourn.store.record import COMPLETE, OF_RECORD, answer_of, manifest_of

BLOCK_BYTES = 512  # the unit of st_blocks, whatever the file system


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One record.

    Attributes:
        started: UTC, ISO 8601; "" if unreadable.
        verdict: of its newest report; "" if there is none.
        answered: how far its question is answered, of the same: "answered in part (4 of 9 cells)".
        state: "complete", "running", "unfinished", or why it cannot be read.
        raw_bytes: the part of `size_bytes` that raw requests take.
        copies: folders of points that are copies of others, which do not count.
    """

    path: Path
    study: str
    machine: str
    started: str
    profile: str
    verdict: str
    points: int
    size_bytes: int
    raw_bytes: int
    complete: bool
    state: str
    answered: str = ""
    copies: tuple[str, ...] = ()


def listed(results: Path) -> Sequence[Listed]:
    """Every record that lies in the folder; StoreFault as of `own`."""
    profiles = Profiles(results)
    every = sorted(own(results), key=by_start, reverse=True)
    rows = [_listed(path, profiles) for path in every]
    profiles.keep()
    return rows


def own(results: Path) -> Iterator[Path]:
    """Records that really lie below `results`: no part of the way there is a link.

    Raises:
        StoreFault: the folder is there and cannot be read.
    """
    check_folder(results)
    for path in records(results):
        if not any(part.is_symlink() for part in (path, *path.parents[:2])):
            yield path


def _listed(path: Path, profiles: Profiles) -> Listed:
    size, raw = sizes(path)
    names = [file.parent.name for file in (path / POINTS).glob(f"*/{OUTCOME}")]
    copies = _copies(path) if copied.may_be(path / POINTS, names) else ()
    started = profile = verdict = answered = ""
    is_complete = False
    try:
        with files.readable(path, OF_RECORD):
            manifest, profile = manifest_of(path), profiles.of(path)
            started = str(manifest.get("started", ""))
            answer = answer_of(path)
            verdict, answered = str(answer.get("verdict", "")), str(answer.get("state", ""))
            is_complete = (path / COMPLETE).is_file()
    except Fault as fault:
        state = f"unreadable: {fault.what}"
    else:
        state = "complete" if is_complete else "running" if is_live(path) else "unfinished"
    return Listed(
        path=path,
        study=path.parents[1].name,
        machine=path.parent.name,
        started=started,
        profile=profile,
        verdict=verdict,
        points=len(names) - len(copies),
        size_bytes=size,
        raw_bytes=raw,
        complete=is_complete,
        state=state,
        answered=answered,
        copies=copies,
    )


def _copies(path: Path) -> tuple[str, ...]:
    """What `index.copies` names; () where a point's file cannot be read."""
    from sojourn.store import index  # noqa: PLC0415  # it loads what reads columns

    try:
        with files.readable(path, OF_RECORD):
            return index.copies(path)
    except Fault:
        return ()


def sizes(path: Path) -> tuple[int, int]:
    """Bytes on disk of a folder, and of the raw requests in it."""
    total = raw = 0
    for _, entries in disk.tree.walk(path):
        for entry in entries:
            try:
                result = entry.stat(follow_symlinks=False)
            except OSError:  # removed meanwhile
                continue
            used = 0 if stat.S_ISDIR(result.st_mode) else result.st_blocks * BLOCK_BYTES
            total += used
            raw += used if entry.name == RAW else 0
    return total, raw
