import numpy as np
from hdrh.histogram import HdrHistogram

from sojourn.samples.histogram import decode
from sojourn.stats.times import Packed, from_histogram


def test_packed_times_say_what_the_histogram_says() -> None:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for ns in (1_000, 2_000, 2_000, 70_000):
        histogram.record_value(ns)
    text = histogram.encode().decode()
    packed, plain = Packed(text, lost=1, at="here"), from_histogram(decode(text, at=""), lost=1)
    assert (packed.n, packed.finite, packed.lost) == (5, 4, 1)
    assert np.array_equal(packed.lo_ns, plain.lo_ns)
    assert packed.moments() == plain.moments()
    assert [packed.quantile(q) for q in (0.5, 0.8, 0.99)] == [
        plain.quantile(q) for q in (0.5, 0.8, 0.99)
    ]
    assert packed.over(2_000) == plain.over(2_000)
