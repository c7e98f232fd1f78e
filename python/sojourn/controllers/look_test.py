"""Looks: windows for a length, slack, when a rule is due, parts of a budget."""

from __future__ import annotations

import pytest

from sojourn.controllers import History
from sojourn.controllers.look import (
    BEST_EFFORT,
    CRITICAL,
    Allocation,
    Group,
    Look,
    Window,
    parts,
    quotas,
)
from sojourn.controllers.testing import TARGET_NS, follow, look, signals


def web(*windows: Window) -> Group:
    return Group(role=CRITICAL, target_ns=TARGET_NS, windows=windows)


def test_a_window_of_100_ms_does_not_answer_for_15_s() -> None:
    short = Window(length_ms=100, n=100, p99_ns=5e5)
    assert web(short).window(100) == short
    assert web(short).window(500) == short
    assert web(short).slack(1000) is None
    assert web(short).slack(15_000) is None
    long = Window(length_ms=14_000, n=14_000, p99_ns=9e5)
    assert web(short, long).slack(15_000) == pytest.approx(0.1)
    assert web(short, long).slack(500) == pytest.approx(0.5)


@pytest.mark.parametrize("name", ["heracles", "be-controller", "clite", "proportional"])
def test_a_rule_does_not_decide_by_one_window_of_100_ms(name: str) -> None:
    late = look(0, 5.0, host={"cpu": 2.0}, web_has={"load": 0.5}, batch_has={"cpu": 2.0})
    groups = {
        label: one.model_copy(update={"windows": one.windows[:1]})
        for label, one in late.groups.items()
    }
    looks = [late.model_copy(update={"t_s": float(t), "groups": groups}) for t in range(40)]
    assert follow(name, looks) == [[]] * 40


@pytest.mark.parametrize(
    ("p99_ns", "above", "low", "high"),
    [
        (9e5, 11, -1e-6, -1e-12),  # 1.1 % are late: missed, though the estimate is below
        (9e5, 10, 0.1, 0.1),
        (2e6, 11, -1.0, -1.0),
        (2e6, 10, 0.0, 0.0),  # 1 % are late: the target holds, though the estimate is above
        (2e6, None, -1.0, -1.0),
    ],
)
def test_late_requests_decide_on_the_sign_of_slack(
    p99_ns: float, above: int | None, low: float, high: float
) -> None:
    slack = web(Window(length_ms=1000, n=1000, p99_ns=p99_ns, above=above)).slack(1000)
    assert slack is not None
    assert low - 1e-15 <= slack <= high + 1e-15


@pytest.mark.parametrize(
    ("before_s", "now_s", "every_s", "is_due"),
    [
        (0.0, 0.0999, 0.1, True),
        (0.0, 0.085, 0.1, True),
        (0.0, 0.075, 0.1, False),
        (0.09, 0.094, 0.1, False),  # the next is at 0.098, and nearer
        (0.09, 0.1, 0.1, True),
        (1.0, 14.0, 15.0, False),
        (14.9, 14.99, 15.0, True),
    ],
)
def test_a_look_that_is_a_little_early_is_due(
    before_s: float, now_s: float, every_s: float, *, is_due: bool
) -> None:
    history = History(looks=(look(before_s), look(now_s)), memory={"at": 0.0})
    assert history.is_due("at", every_s) == is_due


def two(*allocations: Allocation, **has: float) -> dict[str, Group]:
    return {
        f"b{i}": Group(role=BEST_EFFORT, allocation=one, signals=signals(**has))
        for i, one in enumerate(allocations)
    }


def test_parts_are_equal_and_never_more_than_the_budget() -> None:
    for count, budget in ((1, 2.4), (2, 2.4), (3, 0.05), (7, 0.05), (10, 0.05)):
        changes = parts(two(*[Allocation()] * count), budget, "why")
        levels = [change.level for change in changes]
        assert len({*levels}) == 1
        assert len(levels) == count
        total = sum(float(level or 0) for level in levels)
        assert budget - count * 1e-4 - 1e-9 <= total <= budget + 1e-9
        now = two(*[Allocation(quota=float(level or 0)) for level in levels])
        assert (quotas(now) or 0.0) <= budget, "so that the least quota counts as reached"
    assert [c.level for c in parts(two(Allocation(quota=1.0)), None, "why")] == [None]
    assert quotas(two(Allocation(quota=1.0), Allocation())) is None
    assert quotas({}) is None


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("koordinator", 8 * 0.65 - 2 - 0.5),
        ("rama", 8 - (4 + 2.0)),  # as in `test_rama`: kept within the gap of 2 CPUs
        ("captain", 8 - 1.0),
        ("proportional", 8 * 2 / 20),  # level 10 of 20, eight less
        ("posterior", 0.6 * 3.0),
    ],
)
def test_several_best_effort_groups_have_one_budget(name: str, total: float) -> None:
    own = {"cpu": 1.5}
    has = {"cpu": 3.2 if name == "rama" else 2.0, "throttled": 0.0, "runq_delay_ms": 46.0}
    service = look(0, 1.8, host={"cpu": 5.5}, web_has=has).groups["web"]
    quota = Allocation(quota=2.0, idle=True)
    groups = {"web": service, **two(quota, quota, **own)}
    looks = [Look(t_s=t, cpus=8, groups=groups, signals=signals(cpu=5.5)) for t in (0.0, 0.2)]
    answers = [answer for answer in follow(name, looks) if answer]
    changes = [(group, level) for group, knob, level in answers[0] if knob == "quota"]
    best_effort = [level for group, level in changes if group != "web"]
    assert best_effort == [pytest.approx(total / 2, abs=2e-4)] * 2


def test_groups_of_the_be_controller_keep_their_own_quotas() -> None:
    groups = {
        "web": look(0, 0.84).groups["web"],
        **two(Allocation(quota=1.0), Allocation(quota=3.0)),
    }
    one = Look(t_s=0.0, cpus=8, groups=groups, signals=signals(cpu=2.0))
    (changes,) = follow("be-controller", [one])
    assert [change[:2] for change in changes] == [("b0", "quota"), ("b1", "quota")]
    assert [change[2] for change in changes] == pytest.approx([1.08, 3.24])
