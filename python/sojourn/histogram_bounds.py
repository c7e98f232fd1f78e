"""Bounds of a histogram from elsewhere, before and after it is unpacked.

A program that reads strangers' replies wrote it: some kilobytes may represent gigabytes.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

MOST = 2**46  # requests: a year of two million a second; 100,000 such histograms add up in 63 bits


def inflated(packed: bytes, most: int) -> bytes:
    """The first `most` bytes of what is packed; ValueError if there are more."""
    opened = zlib.decompressobj()
    plain = opened.decompress(packed, most)
    if opened.unconsumed_tail:
        raise ValueError("it is larger than any histogram")
    return plain


def check_counts(counts: NDArray[np.int64]) -> None:
    """ValueError if they are no numbers of requests: their sum would wrap."""
    if counts.min(initial=0) < 0 or counts.sum(dtype=np.float64) > MOST:
        raise ValueError(f"its counts are below 0 or more than {MOST:,} together")
