"""Histograms of several generators put together: bins have the same edges, so counts add up.

A generator reads what strangers reply, so what it wrote is bounded before it is unpacked: a text of
some kilobytes may represent gigabytes.
"""

from __future__ import annotations

import base64
import contextlib
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from sojourn import quantiles
from sojourn.errors import RunFault
from sojourn.histogram_bounds import check_counts, inflated

Span: TypeAlias = Mapping[str, Any]

MAX_NS, DIGITS = 3_600_000_000_000, 3  # as the generator's
_LAYOUT = HdrHistogram(1, MAX_NS, DIGITS)
BINS = int(_LAYOUT.counts_len)
#: Cookie, length, offset, digits, lowest and highest time, ratio; then up to 9 bytes for each bin.
_HEAD = struct.Struct(">IIIIQQd")
_HEAD_AT, _BYTES = 8, _HEAD.size + 9 * BINS


class DamagedError(ValueError):
    """A text is no histogram of a generator."""


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Turn a DamagedError into a RunFault, for whoever puts results together."""
    try:
        yield
    except DamagedError as error:
        raise RunFault(
            f"a client's histogram cannot be read: {error}",
            at="the results of the clients",
            fix="run the study again: it resumes",
        ) from None


def added(texts: Sequence[str]) -> HdrHistogram:
    """The sum of histograms, base64, compressed; without loss.

    Raises:
        DamagedError: a text is none, or is larger than any.
    """
    total = HdrHistogram(1, MAX_NS, DIGITS)
    for text in texts:
        add(total, text)
    return total


def add(total: HdrHistogram, text: str) -> None:
    """Add one of them to a sum; an empty text adds nothing.

    Raises:
        DamagedError: it is none, or is larger than any.
    """
    if text:
        total.add(_decoded(text))


def _decoded(text: str) -> HdrHistogram:
    try:
        _check_head(base64.b64decode(text, validate=True))
        result = HdrHistogram.decode(text)
        check_counts(_counts(result))
    except (DamagedError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - the library raises a dozen unrelated kinds
        raise DamagedError(str(error) or type(error).__name__) from None
    return result


def _check_head(raw: bytes) -> None:
    """ValueError if a histogram is longer than its bins, or has others than a generator's."""
    plain = inflated(raw[_HEAD_AT:], _BYTES)
    _, _, _, digits, lowest, highest, _ = _HEAD.unpack_from(plain)
    if (digits, lowest, highest) != (DIGITS, 1, MAX_NS):
        raise DamagedError(f"it has {digits} digits from {lowest} to {highest} ns, as no client's")


def of_counts(counts: NDArray[np.int64]) -> HdrHistogram:
    """The histogram with these counts in its bins.

    Args:
        counts: of every bin, in order of the layout.
    """
    total = HdrHistogram(1, MAX_NS, DIGITS)
    used = np.flatnonzero(counts)
    if len(used):
        np.ctypeslib.as_array(total.counts)[:] = counts
        first, last = int(used[0]), int(used[-1])
        total.set_internal_tacking_values(first or -1, last, int(counts.sum()))
    return total


def span(spans: Sequence[Span], total: HdrHistogram | None = None) -> dict[str, Any]:
    """One summary of the times of several, as the generator would have written of all of them.

    Args:
        spans: of each.
        total: the sum of their histograms, where that is known.

    Raises:
        DamagedError: a histogram cannot be read.
    """
    finite = [int(one["count"]) - int(one["lost"]) for one in spans]
    total = added([str(one["hdr"]) for one in spans]) if total is None else total
    lost = sum(int(one["lost"]) for one in spans)
    sums = [n * float(one["mean"]) for n, one in zip(finite, spans, strict=True) if n]
    largest = [one["max"] for one in spans if one["max"] is not None]
    return {
        "mean": sum(sums) / sum(finite) if sum(finite) else None,
        **{name: quantile(total, q, lost) for name, q in quantiles.keys().items()},
        "max": max(largest, default=None),
        "count": sum(finite) + lost,
        "lost": lost,
        "hdr": total.encode().decode(),
    }


class Sums:
    """Histograms of several results, from the texts in them."""

    def __init__(self, results: Sequence[Mapping[str, Any]]) -> None:
        self._results = results

    def total(self, name: str) -> HdrHistogram:
        """The sum of those of one span."""
        return added([str(result[name]["hdr"]) for result in self._results])

    def above(self, name: str, ns: float) -> list[int]:
        """How many times of each are above a value that came from `quantile`."""
        return [above(added([str(result[name]["hdr"])]), ns) for result in self._results]


def quantile(total: HdrHistogram, q: float, lost: int) -> int | None:
    """The value at rank ⌈q·n⌉, ns; None: that request was lost, or there is none."""
    finite = int(total.total_count)
    rank = max(1, math.ceil(q * (finite + lost) - 1e-9))  # as `Times.quantile` of the generator
    if rank > finite:
        return None
    index = int(np.searchsorted(np.cumsum(_counts(total)), rank))
    return int(total.get_highest_equivalent_value(total.get_value_from_index(index)))


def above(total: HdrHistogram, ns: float) -> int:
    """Finite times above a value that came from `quantile`."""
    return int(_counts(total)[bin_of(ns) + 1 :].sum())


def bin_of(ns: float) -> int:
    """The bin that a time falls into."""
    return int(_LAYOUT._counts_index_for(int(ns)))  # noqa: SLF001  # the library has no other name


def counts(text: str) -> NDArray[np.int64]:
    """What each bin of a histogram holds, base64, compressed; DamagedError if it is none."""
    return _counts(added([text]))


def _counts(total: HdrHistogram) -> NDArray[np.int64]:
    return np.asarray(np.ctypeslib.as_array(total.counts), np.int64)
