"""A CPU quota as files of a group: with which period, and in which order.

The kernel takes no quota below 1 ms. Of a short period that is much: 0.2 CPUs where it is 5 ms. So
a small quota gets a longer period, the kernel's usual one or its longest.
"""

from __future__ import annotations

from sojourn.knobs.cpu_quota import PERIOD_US, CpuQuota
from sojourn.knobs.groups import Group
from sojourn.manage.notes import Step

QUOTA_US_MIN = 1000  # kernel/sched/core.c, min_cfs_quota_period
LONGEST_US = 1_000_000  # the same, max_cfs_quota_period
LEAST = QUOTA_US_MIN / LONGEST_US  # CPUs; whoever asks for less gets this


def period_us(quota: float | None, start_us: int) -> int:
    """The period of a quota, us: the group's own, or a longer one where that is too short.

    >>> period_us(0.05, 100_000), period_us(0.05, 5_000), period_us(0.5, 5_000)
    (100000, 100000, 5000)
    >>> period_us(0.005, 100_000), period_us(0.0, 100_000), period_us(None, 5_000)
    (1000000, 1000000, 5000)
    """
    every = (start_us, PERIOD_US, LONGEST_US)
    fit = (one for one in every if quota is None or round(quota * one) >= QUOTA_US_MIN)
    return next(fit, LONGEST_US)


def quota_us(quota: float | None, period: int) -> int | None:
    """CPU time per period, us; None: no limit.

    >>> quota_us(0.05, 100_000), quota_us(0.0, LONGEST_US), quota_us(None, 5_000)
    (5000, 1000, None)
    """
    if quota is None:
        return None
    return max(QUOTA_US_MIN if period >= LONGEST_US else 0, round(quota * period))


def text(us: int | None) -> str:
    """A quota in us, for people; None: no limit."""
    return "no limit" if us is None else str(us)


def steps(
    limit: CpuQuota, group: Group, quota: float | None, start_us: int, *, is_forced: bool = False
) -> list[Step]:
    """Files of the kernel, and what is written to each; none where the quota is in force.

    Args:
        limit: for the files and their forms.
        group: that it is of.
        quota: in CPUs; None: no limit.
        start_us: the group's own period, us; 0: the one in force.
        is_forced: for somebody who writes them later, whatever is in force then.
    """
    now, period_now, _ = limit.read_back(group)
    period = period_us(quota, start_us or period_now)
    wanted = quota_us(quota, period)
    if not is_forced and now == wanted and (wanted is None or period == period_now):
        return []
    files = limit.files((wanted, period, 0), group)
    if group.version == 1 and is_forced:  # without a moment that has no limit
        files = files[-2:]
    elif group.version == 1 and period == period_now:
        files = files[-1:]
    return [(f"{group.folder}/{name}", text) for name, text in files]
