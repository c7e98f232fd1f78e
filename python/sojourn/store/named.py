"""Names of a record's files, and which record a person means."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from sojourn import disk
from sojourn.errors import StoreFault
from sojourn.visible import in_line

MANIFEST = "manifest.json"
POINTS, OUTCOME = "points", "outcome.parquet"
FAILED = "failed.parquet"  # the outcome of a point that is measured again
MANIFEST_BYTES = 4 * 1024**2
FROM = ("study", "machine", "record")  # columns of a table by the parts of a record's name
_TIME = re.compile(r"\d{8}T\d{6}Z", re.ASCII)  # how the name of a record's folder begins
_DIGEST_BYTES = 4


def records(results: Path) -> Iterator[Path]:
    """Folders of all records, oldest first within each study and machine."""
    homes = (home for study in disk.folders_in(results) for home in disk.folders_in(study))
    every = (path for home in homes for path in records_in(home))
    yield from sorted(every, key=lambda path: (path.parts[-3:-1], by_start(path)))


def records_in(home: Path) -> Iterator[Path]:
    """Folders of the records of one study on one machine, in no order."""
    return (path for path in disk.folders_in(home) if disk.is_file(path / MANIFEST))


def check_folder(results: Path) -> None:
    """Refuse a results folder that is there and cannot be read: it is not one without records.

    Raises:
        StoreFault: it is no folder, or may not be read.
    """
    try:
        os.scandir(results).close()
    except OSError as error:
        if error.errno == errno.ENOENT:  # the first record will make it
            return
        raise StoreFault(
            f"the results folder cannot be read: {error.strerror}",
            at=str(results.absolute()),
            fix="name another one with --results or SOJOURN_RESULTS",
        ) from None


def number(name: str) -> int:
    """Of a point's folder: `0007-memcached-…` is 7; 0 if it has none."""
    head = name.partition("-")[0]
    return int(head) if head.isdecimal() else 0


def are_of_lab(names: Iterable[str]) -> bool:
    """Whether folders of points differ in number and key, as the lab makes them: none is a copy.

    A key that is measured again ends in ~1, ~2, …; of long keys only the begin is in a name.

    >>> are_of_lab(["0001-a", "0002-a~1"]), are_of_lab(["0001-a", "0001-a-copy"])
    (True, False)
    >>> are_of_lab(["0001-a", "0999-a"])
    False
    """
    every = list(names)
    numbers, keys = set(map(number, every)), {name.partition("-")[2] for name in every}
    return 0 not in numbers and len(numbers) == len(keys) == len(every)


def began(folder: str, started: object) -> str:
    """When a record began, as `20261126T120000Z`, which sorts by time; "" if it is unknown.

    Args:
        folder: the name of its folder, which begins with the time unless somebody renamed it.
        started: what its manifest says, ISO 8601; it counts where the folder's name has no time.

    >>> began("20261126T120000Z-7d37", ""), began("baseline", "2026-11-26T13:00:00+01:00")
    ('20261126T120000Z', '20261126T120000Z')
    """
    if match := _TIME.match(folder):
        return match[0]
    try:
        at = datetime.fromisoformat(str(started))
        at = at.astimezone(UTC) if at.tzinfo else at
    except (ValueError, OverflowError):
        return ""
    return f"{at:%Y%m%dT%H%M%SZ}"


def by_start(path: Path) -> tuple[str, str, str]:
    """A key that sorts records by when they began; names decide between those of one second."""
    return began(path.name, "") or began("", _started(path)), path.name, str(path)


def _started(path: Path) -> object:
    """What a record says itself; "" if it cannot be read."""
    try:
        return disk.read_json(path / MANIFEST, most=MANIFEST_BYTES).get("started", "")
    except (OSError, ValueError, AttributeError):
        return ""


def shown(name: str) -> str:
    r"""A record's name in letters that any program can pass on; `resolve` takes it back.

    A folder may be called by any bytes. Those that are no text, and what controls a terminal, are
    spelled. Names that are spelled alike have different digests.

    >>> shown("study/machine/20261126T120000Z-7d37")
    'study/machine/20261126T120000Z-7d37'
    >>> print(shown("study/machine/a\udcff").partition("~")[0])
    study/machine/a\udcff
    """
    if in_line(name) == name:
        return name
    return "/".join(map(_shown, name.split("/")))


def _shown(part: str) -> str:
    text = in_line(part)
    if text == part:
        return part
    raw = part.encode("utf-8", "surrogatepass")
    return f"{text}~{blake2b(raw, digest_size=_DIGEST_BYTES).hexdigest()}"


def resolve(results: Path, name: str | None) -> Path:
    """The record that a person means: a path, a part of its folder's name, a study; the newest.

    Raises:
        StoreFault: there is none, with those that there are; or the folder cannot be read.
    """
    if name and disk.is_file(Path(name) / MANIFEST):
        return Path(name)
    check_folder(results)
    known = {path: str(path.relative_to(results)) for path in records(results)}
    fits = [path for path, whole in known.items() if not name or name in _words(whole)]
    fits = fits or [
        path for path, whole in known.items() if name and (name in whole or name in shown(whole))
    ]
    if not fits:
        newest = sorted(known, key=by_start)[-3:]
        names = ", ".join(shown(known[path]) for path in newest)
        raise StoreFault(
            f"there is no record '{name}'" if name else "there is no record yet",
            at=str(results.absolute()),
            fix=f"known: {names}; see `sojourn ls`" if known else "begin with `sojourn run STUDY`",
        )
    return max(fits, key=by_start)


def _words(whole: str) -> set[str]:
    """By which a person names a record: its name and each part of it, as they are and as shown."""
    every = [whole, *whole.split("/")]
    return {*every, *map(shown, every)}
