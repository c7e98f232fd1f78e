"""A record by its name, read once as long as its files stay as they are.

A name comes from an address or from an assistant, so it leads nowhere but to a record.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import disk, store
from sojourn.analysis import reasons
from sojourn.browse import curves, entries, index
from sojourn.browse.curves import Curve
from sojourn.errors import StoreFault
from sojourn.plan import Outcome
from sojourn.store import files
from sojourn.store.index import Kept, present
from sojourn.store.index import rows as rows_of
from sojourn.store.named import shown
from sojourn.store.record import OF_RECORD, Record, outcomes_of

if TYPE_CHECKING:
    import pyarrow as pa

REASONS_MOST = 20
_KNOWN = 16  # records whose runs are held in memory


@dataclass(frozen=True, slots=True)
class Seen:
    """A record as it was read.

    Attributes:
        table: a row each point, as `store.index.rows` has them.
        outcomes: of the same points, in the same order.
        curves: of these outcomes.
    """

    record: Record
    table: pa.Table
    outcomes: Sequence[Outcome]
    curves: Sequence[Curve]


def named(results: Path, name: str) -> tuple[str, Path]:
    """Name and folder of a record: three folders below the results, none of them a link.

    Args:
        results: folder of the records.
        name: of the three folders; or as `store.named.shown` spells it, in letters that an address
            can have.

    Raises:
        StoreFault: there is none.
    """
    for one in itertools.chain([name], _spelled(results, name)):
        if path := _folder(results, one):
            return one, path
    raise StoreFault(
        f"there is no record '{name[:200]}'", at=str(results), fix="choose one from the list"
    )


def _spelled(results: Path, name: str) -> Iterator[str]:
    """The records that `shown` spells so; each name that it spells has a backslash."""
    if "\\" in name:
        yield from (one for one, _ in index.scan(results) if shown(one) == name)


def _folder(results: Path, name: str) -> Path | None:
    parts = name.split("/")
    is_name = len(parts) == 3 and not any(one in {"", ".", ".."} or "\0" in one for one in parts)
    ways = [results.joinpath(*parts[:count]) for count in (1, 2, 3)] if is_name else []
    try:
        is_there = bool(ways) and all(map(disk.is_folder, ways))
        return ways[-1] if is_there and disk.is_plain(ways[-1] / entries.MANIFEST) else None
    except ValueError:  # letters that no file system has
        return None


def mark(path: Path) -> tuple[str, int, int]:
    """What changes with a record's runs; of a running record only the points' own files do."""
    with files.readable(path, OF_RECORD):
        points = present(path)
    return index.stamp(path), len(points), max((point.changed_ns for point in points), default=0)


def seen(path: Path) -> Seen:
    """A record and its runs; read again only when its files changed."""
    return _seen(path, mark(path))


@functools.lru_cache(maxsize=_KNOWN)
def _own_rows(_path: Path) -> dict[Kept, pa.Table]:
    """Rows of a record that is read again after each point: a file each, so they cost the most."""
    return {}


@functools.lru_cache(maxsize=_KNOWN)
def _seen(path: Path, _mark: object) -> Seen:
    with files.readable(path, OF_RECORD):
        record, table = store.read(path), rows_of(path, _own_rows(path))
        outcomes = tuple(outcomes_of(path, table))
        return Seen(record, table, outcomes, curves.curves(outcomes))


def refused(outcomes: Sequence[Outcome]) -> list[tuple[str, int, str]]:
    """(reason in short, runs, a sentence with what helps) of runs that do not count."""
    count: Counter[str] = Counter()
    instance: dict[str, str] = {}
    for outcome in outcomes:
        for reason in refusals(outcome)[:1]:
            topic = reasons.topic(reason)
            count[topic] += 1
            instance.setdefault(topic, reason)
    rows = []
    for topic, times in count.most_common(REASONS_MOST):
        kind = reasons.about(instance[topic])
        words = kind.words if kind else topic
        rows.append((words, times, (kind.action if kind else "") or instance[topic]))
    return rows


def refusals(outcome: Outcome) -> tuple[str, ...]:
    """Why a run does not count; () for one that does."""
    if outcome.is_believed:
        return ()
    return outcome.reasons or (reasons.of_course(outcome.course) or "nothing was measured",)
