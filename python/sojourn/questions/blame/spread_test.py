"""The interval of a pooled quantile over windows is wide where windows are few."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.questions.blame import randomisation
from sojourn.questions.blame.randomisation_test import Q, window
from sojourn.stats.interval import Interval


def ends(count: int) -> Interval:
    windows = [window(np.random.default_rng(n)) for n in range(count)]
    result = randomisation.spread(windows, Q, seed=1)
    assert result is not None
    return result


def test_few_windows_have_a_wider_interval_than_their_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, many = ends(randomisation.BLOCKS_MIN), ends(100)
    monkeypatch.setattr(randomisation, "left_out", lambda share, _: share)
    plain, same = ends(randomisation.BLOCKS_MIN), ends(100)
    assert few.lo < plain.lo < plain.hi < few.hi
    assert (many.lo, many.hi) == pytest.approx((same.lo, same.hi), rel=0.02)
