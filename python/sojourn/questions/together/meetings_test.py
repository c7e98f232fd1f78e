"""What a factor does to a ratio whose numbers are not all finite."""

from __future__ import annotations

import math

import pytest

from sojourn.analysis.effect_sentences import Saying
from sojourn.findings.effects import Effect
from sojourn.plan.setting import Setting
from sojourn.questions.testing_state import made
from sojourn.questions.together.meetings import Met, _numbers
from sojourn.stats.log_ratio_contrasts import Contrast

CELLS = tuple(Setting.of({"policy": level}) for level in ("other", "fifo:1"))


def effect(*ratios: tuple[float | None, float | None]) -> Effect:
    """Of a factor; of each block the ratio beside over alone under both of its levels."""
    own = [
        made(
            Met,
            service="m",
            fraction=0.3,
            beside=(("s", 0.3),),
            levels=cell.levels,
            by_block=tuple((n, pair[which]) for n, pair in enumerate(ratios)),
        )
        for which, cell in enumerate(CELLS)
    ]
    contrast = Contrast(CELLS, "policy", "other", "fifo:1", is_fraction=False)
    (result,) = _numbers(Saying(contrast, "policy"), own)
    return result


def test_requests_that_are_lost_beside_the_others_alone_are_an_answer() -> None:
    assert effect((2.0, math.inf), (2.0, math.inf)).endless == 1
    assert effect((math.inf, 2.0), (math.inf, 2.0)).endless == -1


@pytest.mark.parametrize("pair", [(2.0, None), (None, 2.0), (math.inf, None)])
def test_requests_that_are_lost_alone_say_nothing_of_the_others(
    pair: tuple[float | None, float | None],
) -> None:
    """A tail that is infinite alone is no longer beside the others, whatever it is there."""
    one = effect(pair, pair)
    assert (one.endless, one.ratio, one.interval) == (0, None, None)
    assert "infinite in 2 of 2 blocks" in one.sentence
