"""Histograms of results as arrays: base64 HdrHistogram V2, plain or compressed.

The programs write the compressed form, which every HdrHistogram library reads. Records of before
hold the plain one; PyPI's `hdrhistogram` does not read that, so plain bytes are compressed first.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from hdrh.codec import HdrHistogramEncoder
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from sojourn.disk.spent import no_memory
from sojourn.errors import StoreFault
from sojourn.histogram_bounds import check_counts, inflated

_COMPRESSED = 0x1C849304
_WORD_BITS = 0xF0  # of a cookie: the width of its counters
_HEADER_BYTES = 8  # cookie and length
_FIGURES_MAX = 4  # of the lab's own: 3
_PLAIN_BYTES = 9 * 2**20  # as many as the counters of that take, uncompressed


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Finite times in bins, ascending; none empty.

    Attributes:
        lo_ns, hi_ns: lowest and highest time of each bin, ns, shape (bins,).
        count: requests in each.
    """

    lo_ns: NDArray[np.float64]
    hi_ns: NDArray[np.float64]
    count: NDArray[np.int64]

    @property
    def total(self) -> int:
        """How many requests all bins hold together."""
        return int(self.count.sum())

    def over(self, bound_ns: float) -> int:
        """Requests above `bound_ns`; a bin that straddles it counts as above (0.1 % wide)."""
        return int(self.count[self.hi_ns > bound_ns].sum())


EMPTY = Histogram(lo_ns=np.empty(0), hi_ns=np.empty(0), count=np.empty(0, np.int64))


def decode(text: str | bytes, *, at: str) -> Histogram:
    """Read one histogram.

    Args:
        text: base64.
        at: where it stood, for the message.

    Raises:
        StoreFault: it is no such histogram.
        RunFault: it takes more memory than there is.
    """
    if not text:
        return EMPTY
    try:
        raw = base64.b64decode(text, validate=True)
        cookie = int.from_bytes(raw[:4], "big")
        is_compressed = (cookie ^ _COMPRESSED) & ~_WORD_BITS == 0
        packed = raw[_HEADER_BYTES:] if is_compressed else zlib.compress(raw, 1)
        inflated(packed, _PLAIN_BYTES)
        payload = HdrHistogramEncoder.decode(packed, b64_wrap=False)
        head = payload.payload
        shape = _shape(head)
        payload.init_counts(shape.counts_len)
        counts = np.ctypeslib.as_array(payload.counts).astype(np.int64)
        check_counts(counts)
    except MemoryError:
        raise no_memory(at) from None
    except Exception as error:  # noqa: BLE001 - the library raises a dozen unrelated kinds
        raise StoreFault(
            f"a histogram cannot be read: {error or type(error).__name__}",
            at=at,
            fix="remove this point's folder and run the study again: it resumes there",
        ) from None
    index = np.flatnonzero(counts)
    lo, hi = _edges(index, shape)
    return Histogram(lo_ns=lo, hi_ns=hi, count=counts[index])


def _shape(head: Any) -> HdrHistogram:
    """An empty histogram as the header has it; ValueError if it would be too large."""
    if head.significant_figures > _FIGURES_MAX:
        raise ValueError(f"it has {head.significant_figures} significant figures")
    return HdrHistogram(
        head.lowest_trackable_value, head.highest_trackable_value, head.significant_figures
    )


def _edges(
    index: NDArray[np.int64], shape: HdrHistogram
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest value of each bin, from the histogram's own layout."""
    half = shape.sub_bucket_half_count
    bucket = (index >> shape.sub_bucket_half_count_magnitude) - 1
    sub = (index & (half - 1)) + np.where(bucket < 0, 0, half)
    shift = np.maximum(bucket, 0) + shape.unit_magnitude
    lo = sub << shift
    return lo.astype(np.float64), (lo + (np.int64(1) << shift) - 1).astype(np.float64)
