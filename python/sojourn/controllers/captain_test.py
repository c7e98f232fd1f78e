"""Captain between samples: periods of any length, looks too early or too late."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sojourn.controllers import KINDS, History
from sojourn.controllers.look import Level, Look
from sojourn.controllers.testing import follow, look


def limits(looks: Sequence[Look]) -> list[Level]:
    """The service's limit after each look; None: it has none yet."""
    now: Level = None
    results: list[Level] = []
    for answer in follow("captain", looks):
        now = next((level for group, _, level in answer if group == "web"), now)
        results.append(now)
    return results


def test_captain_that_looks_once_a_second_counts_the_periods_in_between() -> None:
    # 7 of 10 periods throttled since the last look: 1 × (1 + .7 − .3), as with ten looks.
    looks = [look(t, None, web_has={"throttled": n, "cpu": 0.9}) for t, n in ((0, 0.0), (1, 7.0))]
    assert limits(looks)[1] == pytest.approx(1.4)


@pytest.mark.parametrize(
    ("throttled", "periods", "limit"),
    [
        (14, 20, 1 + 0.7 - 0.3),  # 5 ms: .7 of twenty periods a sample, not 14 of one
        (7, 10, 1 + 0.7 - 0.3),  # 10 ms
        (1, 20, None),  # .05 < 3 · .1, and it uses what it may
    ],
)
def test_captain_takes_the_share_of_the_groups_own_periods(
    throttled: float, periods: float, limit: float | None
) -> None:
    has = {"throttled": float(throttled), "periods": float(periods), "cpu": 0.9}
    looks = [look(i / 10, None, web_has=has) for i in range(11)]
    wanted = 1.0 if limit is None else pytest.approx(limit)
    assert limits(looks)[-1] == wanted


def test_captain_takes_periods_that_two_samples_share_unevenly() -> None:
    # 100-ms periods and 100-ms samples that drift: two in one sample, none in the next, all of
    # them throttled. The share is 1, not the mean of 1 and 0.
    counts = [{"throttled": n, "periods": n, "cpu": 0.9} for n in (2.0, 0.0) * 6]
    looks = [look(i / 10, None, web_has=has) for i, has in enumerate(counts[:11])]
    assert limits(looks)[-1] == pytest.approx(1 + 1 - 0.3)


def test_captain_adds_up_what_looks_between_two_samples_count() -> None:
    # A look each 10 ms: one of ten has the throttled period of its 100 ms, 7 of 10 of them have.
    def has(i: int) -> dict[str, float]:
        return {"throttled": float(i % 10 == 5 and i // 10 % 10 < 7), "cpu": 0.9}

    looks = [look(i / 100, None, web_has=has(i)) for i in range(101)]
    assert limits(looks)[-1] == pytest.approx(1.4)


def test_captain_loses_no_sample_to_a_look_that_is_a_little_early() -> None:
    times = [i / 10 - (0.0001 if i % 2 else 0.0) for i in range(11)]
    has = {"throttled": 1.0, "cpu": 0.9}
    looks = [look(t, None, web_has=has) for t in times]
    assert limits(looks)[-1] == pytest.approx(1 + 1 - 0.3)


def test_captain_keeps_what_a_look_far_too_early_counts() -> None:
    times = sorted([0.45, *(i / 10 for i in range(11))])
    late = {0.1, 0.2, 0.3, 0.4, 0.45, 0.6, 0.7}  # the look at 0.5 counts none of its own
    looks = [look(t, None, web_has={"throttled": float(t in late), "cpu": 0.9}) for t in times]
    assert limits(looks)[-1] == pytest.approx(1.4)


def test_captain_has_a_memory_of_plain_names() -> None:
    one = look(0, None, web_has={"throttled": 0.0, "cpu": 0.9})
    groups = {"sample": one.groups["web"], "seen": one.groups["web"], **one.groups}
    looks = [one.model_copy(update={"t_s": i / 10, "groups": groups}) for i in range(3)]
    constants, decide = KINDS["captain"].settled({}), KINDS["captain"].decide
    first = decide(History(looks=(looks[0],), constants=constants))
    then = decide(History(looks=tuple(looks[:2]), memory=first.memory, constants=constants))
    assert {*then.memory["services"]} == {"sample", "seen", "web"}
