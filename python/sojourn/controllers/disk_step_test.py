"""Bytes/s on the disk: tried, held and given back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sojourn.controllers import disk_step, kind
from sojourn.controllers.evidence import Late as Counts
from sojourn.controllers.look import Allocation, Change, History, Look
from sojourn.controllers.testing import applied, changed, follow, look

USED = 80e6  # bytes/s that the batch job moves without a limit
Late = Callable[[Allocation], int]  # of 1,000 requests in 0.1 s, by what the job may do


def played(late: Late, seconds: float, *, has_disk: bool = True) -> list[tuple[float, Change]]:
    """What is changed, and when, beside a job that makes so many requests late."""
    rule = kind("posterior")
    now = {"web": Allocation(), "batch": Allocation()}
    memory: Mapping[str, Any] = {}
    past: tuple[Look, ...] = ()
    result: list[tuple[float, Change]] = []
    for tick in range(round(10 * seconds)):
        t_s, own = 100 + tick / 10, now["batch"]
        moved = min(USED, own.io if own.io is not None else USED)
        cpu = min(4.0, own.quota if own.quota is not None else 4.0)
        has = {"cpu": cpu} | ({"io": moved} if has_disk else {})
        one = look(t_s, above=late(own), web_has={"runq_delay_ms": 0.0}, batch_has=has)
        past = (*past, applied(one, now))[-50:]
        decision = rule.decide(History(looks=past, memory=memory, constants=rule.settled({})))
        memory = decision.memory
        changed(now, decision.changes)
        result += [(t_s - 100, change) for change in decision.changes]
    return result


def of(result: list[tuple[float, Change]], knob: str) -> list[tuple[float, Any]]:
    return [(t_s, change.level) for t_s, change in result if change.knob == knob]


def by_disk(own: Allocation) -> int:
    return 60 if own.io is None or own.io > 5e6 else 0


def test_the_disk_is_limited_where_less_cpu_time_has_not_helped() -> None:
    result = played(by_disk, 12)
    (at_s, level), *more = of(result, "io")
    assert level == 1e6
    assert more == []
    quotas = of(result, "quota")
    assert quotas[-1] == (at_s, None), "the CPU time comes back in the same step"
    assert min(one for _, one in quotas[:-1]) == pytest.approx(0.05)
    assert any("on the disk" in change.reason for _, change in result)


def test_a_limit_grows_up_to_what_fails_and_no_further() -> None:
    levels = [level for _, level in of(played(by_disk, 500), "io")]
    highest = max(levels)
    assert levels[0] == 1e6
    assert 5e6 < highest < 7e6, "the first level that made requests late"
    at = levels.index(highest)
    assert levels[at + 1] == levels[at - 1] <= 5e6, "and the one before it again"
    assert len([level for level in levels if level > 5e6]) <= 4, "rests double"


def test_a_limit_that_does_not_help_goes() -> None:
    result = played(lambda _: 60, 60)
    assert [level for _, level in of(result, "io")] == [1e6, None]
    (begin_s, _), (end_s, _) = of(result, "io")
    assert 3 <= end_s - begin_s < 4
    assert of(result, "quota")[-1][1] is None
    assert max(t_s for t_s, _ in result) == end_s, "and then nothing for minutes"


def test_a_limit_goes_when_the_job_is_free_of_harm() -> None:
    began: list[float] = []

    def until_limited(own: Allocation) -> int:
        began.extend([1.0] if own.io is not None else [])
        return 0 if began else 60  # the job was at the disk's expense once

    levels = [level for _, level in of(played(until_limited, 900), "io")]
    assert levels[0] == 1e6
    assert levels[-1] is None
    assert max(level for level in levels if level is not None) < 2 * USED


def test_a_limit_of_which_nothing_is_remembered_grows_and_goes_as_well() -> None:
    """As after a pause, when the manager goes on with an empty memory."""
    looks = [
        look(
            t,
            above=0,
            web_has={"runq_delay_ms": 0.0},
            batch={"io": 1e6},
            batch_has={"cpu": 4.0, "io": 1e6},
        )
        for t in range(120)
    ]
    answers = enumerate(follow("posterior", looks))
    result = [(t, level) for t, answer in answers for _, knob, level in answer if knob == "io"]
    # After a rest of 30 s, each 15 s, by a quarter, up to twice what it was.
    assert result == [(30, 1_250_000), (45, 1_562_500), (60, 1_953_125), (75, None)]


@pytest.mark.parametrize(
    ("n", "late", "missed", "outcome"),
    [
        (20, 0, None, "trial"),  # so few say nothing
        (2000, 0, None, "held"),
        (2000, 60, None, "trial"),  # not surely fewer than half
        (2000, 60, 0.03, None),
        (2000, 60, 0.004, "trial"),  # fewer now, and 3 % since it began
    ],
)
def test_a_trial_ends_by_what_is_known_and_not_by_what_is_not(
    n: int, late: int, missed: float | None, outcome: str | None
) -> None:
    now = look(110, batch={"io": 1e6}, batch_has={"io": 1e6, "cpu": 1.0})
    state = {"is": "trial", "size": 0.04, "at": 100.0, "used": {"batch": 80_000_000}}
    since = [Counts(windows=10, n=n, above=late, squares=late**2 / 10)]
    constants = kind("posterior").settled({})
    after, changes = disk_step.judged(now, constants, state, missed, since)
    assert (after and after["is"]) == outcome
    assert [change.level for change in changes] == ([None] if outcome is None else [])


@pytest.mark.parametrize("has_disk", [False, True])
def test_without_a_disk_or_with_cpu_as_the_cause_there_is_no_limit(*, has_disk: bool) -> None:
    def by_cpu(own: Allocation) -> int:
        return 60 if own.quota is None or own.quota > 1 else 0

    late = by_cpu if has_disk else (lambda _: 60)
    assert of(played(late, 30, has_disk=has_disk), "io") == []
