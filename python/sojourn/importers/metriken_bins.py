"""Histograms of metriken's programs: powers of two, each cut in equal bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sojourn.importers.file import LONGEST_NS, fault
from sojourn.stats.times import Times

if TYPE_CHECKING:
    import pyarrow as pa

Ints = NDArray[np.int64]
COUNT_MOST = 2**53  # of all requests: above it a count is no longer exact everywhere
AGAIN = "record again, and do not restart what is recorded"


@dataclass(frozen=True, slots=True)
class Bins:
    """Where the bins of a histogram begin and end.

    Attributes:
        grouping: each power of two above 2**grouping is cut in 2**grouping bins.
        most: values are below 2**most.
    """

    grouping: int
    most: int

    @property
    def number(self) -> int:
        """How many bins there are."""
        return (self.most - self.grouping + 1) << self.grouping

    def edges(self, index: Ints) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lowest and highest value of some bins; both are in the bin.

        >>> [edge.tolist() for edge in Bins(3, 64).edges(np.array([7, 16, 17, 24]))]
        [[7.0, 16.0, 18.0, 32.0], [7.0, 17.0, 19.0, 35.0]]
        """
        step = np.maximum((index >> self.grouping) - 1, 0)
        width = np.exp2(step)
        part = index - (step << self.grouping)
        lo = part * width
        return lo, lo + width - 1


def of_powers(about: Mapping[str, str], at: str) -> Bins:
    """The bins by the two powers that are written about a column."""
    texts = [about.get(key, "") for key in ("grouping_power", "max_value_power")]
    grouping, most = (
        int(text) if text.isascii() and text.isdigit() and len(text) < 3 else -1 for text in texts
    )
    if not 0 <= grouping < most <= 64 or grouping > 14:
        what = f"its histogram has bins of the powers '{texts[0][:20]}' and '{texts[1][:20]}'"
        raise fault(what, at, AGAIN)
    return Bins(grouping, most)


@dataclass(frozen=True, slots=True)
class Rows:
    """The snapshots of a histogram: for row r, entries offsets[r] to offsets[r + 1].

    Attributes:
        index: bin of each entry; None: entry n of a row is bin n.
        count: of each entry.
    """

    offsets: Ints
    index: Ints | None
    count: NDArray[np.uint64]

    def at(self, row: int, bins: Bins, at: str) -> NDArray[np.uint64]:
        """Counts of all bins in one snapshot."""
        cut = slice(int(self.offsets[row]), int(self.offsets[row + 1]))
        count = self.count[cut]
        index = np.arange(len(count)) if self.index is None else self.index[cut]
        if len(index) != len(count) or (
            len(index) and (index.min() < 0 or index.max() >= bins.number)
        ):
            raise fault("its histogram has other bins than its description", at, AGAIN)
        whole = np.zeros(bins.number, np.uint64)
        np.add.at(whole, index, count)
        return whole


def rows_of(table: pa.Table, names: Sequence[str], at: str) -> Rows:
    """The snapshots of a histogram of one column, or of one for bins and one for counts."""
    import pyarrow as pa  # noqa: PLC0415 - other formats are read without it

    lists = []
    for name in names:
        column = table.column(name).combine_chunks()
        if not pa.types.is_list(column.type) or not pa.types.is_integer(column.type.value_type):
            raise fault(f"'{name[:80]}' holds no lists of whole numbers", at, AGAIN)
        lists.append(column.fill_null([]))
    offsets = [np.asarray(one.offsets, np.int64) for one in lists]
    if any(not np.array_equal(offsets[0], other) for other in offsets[1:]):
        raise fault("a snapshot has more bins than counts, or fewer", at, AGAIN)
    values = [one.values.fill_null(0) for one in lists]
    index = np.asarray(values[0]).astype(np.int64) if len(names) > 1 else None
    return Rows(offsets[0], index, np.asarray(values[-1]).astype(np.uint64))


def difference(rows: Rows, first: int, last: int, bins: Bins, at: str) -> Times:
    """What was counted between two snapshots."""
    before, after = rows.at(first, bins, at), rows.at(last, bins, at)
    if (after < before).any():
        raise fault("a histogram counts less than one snapshot before", at, AGAIN)
    count = after - before
    used = np.flatnonzero(count)
    lo, hi = bins.edges(used)
    if float(count.astype(np.float64).sum()) >= COUNT_MOST:
        raise fault(f"its histogram has more than {COUNT_MOST:,} counts", at, AGAIN)
    if len(used) and hi[-1] > LONGEST_NS:
        raise fault("a time in it is longer than any request", at, AGAIN)
    return Times(lo_ns=lo, hi_ns=hi, count=count[used].astype(np.int64))
