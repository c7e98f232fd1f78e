"""Reads the histograms of results: base64 `HdrHistogram` V2, compressed or plain.

The generator writes the plain form; PyPI's `hdrhistogram` reads only the compressed one, which is
the same bytes through zlib. So plain text is compressed first and the library does the rest.
"""

from __future__ import annotations

import base64
import zlib

import numpy as np
from hdrh.codec import HdrHistogramEncoder
from hdrh.histogram import HdrHistogram

from sojourn.analysis.times import Counts, Floats, Times
from sojourn.errors import StoreFault

_COMPRESSED = 0x1C849304
_WORD_BITS = 0xF0  # of a cookie: the width of its counters
_HEADER_BYTES = 8


def from_hdr(text: str | bytes, *, lost: int = 0) -> Times:
    """The times in a histogram, beside `lost` requests that never completed.

    Raises:
        StoreFault: the text is no such histogram.
    """
    try:
        raw = base64.b64decode(text, validate=True)
        cookie = int.from_bytes(raw[:4], "big")
        is_compressed = cookie & ~_WORD_BITS == _COMPRESSED & ~_WORD_BITS
        packed = raw[_HEADER_BYTES:] if is_compressed else zlib.compress(raw, 1)
        payload = HdrHistogramEncoder.decode(packed, b64_wrap=False)
        head = payload.payload
        shape = HdrHistogram(
            head.lowest_trackable_value, head.highest_trackable_value, head.significant_figures
        )
        payload.init_counts(shape.counts_len)
    except Exception as fault:  # the library raises a dozen unrelated kinds
        raise StoreFault(
            f"a histogram cannot be read: {fault or type(fault).__name__}",
            at="`hdr` of a result",
            fix="remove this point's folder and run the study again: it resumes with that point",
        ) from fault
    count = np.ctypeslib.as_array(payload.counts).astype(np.int64)
    index = np.flatnonzero(count)
    lo, width = _edges(index, shape)
    return Times(lo_ns=lo, hi_ns=lo + width - 1, count=count[index], lost=lost)


def _edges(index: Counts, shape: HdrHistogram) -> tuple[Floats, Floats]:
    """Lowest value and number of values of each bin: `HdrHistogram.get_value_from_index`."""
    half = shape.sub_bucket_half_count
    bucket = (index >> shape.sub_bucket_half_count_magnitude) - 1
    sub = (index & (half - 1)) + np.where(bucket < 0, 0, half)
    shift = np.maximum(bucket, 0) + shape.unit_magnitude
    return (sub << shift).astype(float), (np.int64(1) << shift).astype(float)
