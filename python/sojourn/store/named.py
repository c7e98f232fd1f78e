"""Names of a record's files, and which record a person means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sojourn.errors import StoreFault

MANIFEST = "manifest.json"
POINTS, OUTCOME = "points", "outcome.parquet"


def records(results: Path) -> Iterator[Path]:
    """Folders of all records, oldest first within each study and machine."""
    yield from sorted(path.parent for path in results.glob(f"*/*/*/{MANIFEST}"))


def resolve(results: Path, name: str | None) -> Path:
    """The record that a person means: a path, a part of its folder's name, a study; the newest.

    Raises:
        StoreFault: there is none, with those that there are.
    """
    if name and (Path(name) / MANIFEST).is_file():
        return Path(name)
    known = list(records(results))
    fits = [path for path in known if not name or name in path.relative_to(results).parts]
    fits = fits or [p for p in known if name and name in str(p.relative_to(results))]
    if not fits:
        newest = ", ".join(str(p.relative_to(results)) for p in known[-3:]) or "none yet"
        raise StoreFault(
            f"there is no record '{name}'" if name else "there is no record yet",
            at=str(results.absolute()),
            fix=f"known: {newest}; see `sojourn ls`" if known else "begin with `sojourn run STUDY`",
        )
    return max(fits, key=lambda path: path.name)
