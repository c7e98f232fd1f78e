"""Whether a thread is ordered among others as its policy says, felt by burners.

Two of them on one CPU, one of which has the policy, each in a session of its own like a service and
its neighbours. A deadline is felt beside a burner without one, which shows that there was more to
be had. A batch policy and a slice change who is asked when, not who gets how much: they are read
back only.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sojourn.host.tree import Tree
from sojourn.knobs import attr, cpu_weight
from sojourn.knobs.attr import Attr
from sojourn.knobs.knob import Felt
from sojourn.knobs.limit import no_effect
from sojourn.knobs.probe import BURN, Apart, Probe

STEP = 1.25  # of weight, for a nice value (kernel/sched/core.c: sched_prio_to_weight)
IDLE_SHARE = 3 / 1024  # kernel/sched/sched.h: WEIGHT_IDLEPRIO
RT_SHARE = 19.0  # what is left to others beside it: a twentieth (since 6.12 by fair_server)
WINDOW_S = 0.3
GROUPED = "/proc/sys/kernel/sched_autogroup_enabled"


def effect(wanted: Attr, cpu: int, tree: Tree | None = None) -> Felt:
    """Whether a thread with these attributes is ordered among others as it should be.

    Args:
        wanted: of one of two burners; the other has none.
        cpu: that both want.
        tree: the machine, of which it is asked whether it groups by session.
    """
    if wanted.policy == attr.DEADLINE:
        return _deadline(wanted)
    ratio = expected(wanted)
    if 1 / cpu_weight.TELLING < ratio < cpu_weight.TELLING:
        return Felt(
            holds=None, why="read back; it changes no share of a CPU that could be measured"
        )
    is_grouped = (tree or Tree()).number(GROUPED) == 1
    with Apart(BURN, 1, WINDOW_S) as apart, Apart(BURN, 1, WINDOW_S) as others:
        attr.put(others.on({cpu}).pid, Attr(attr.OTHER))  # whatever the lab itself runs under
        attr.put(apart.on({cpu}).pid, wanted)
        if is_grouped and wanted.nice:
            Path(f"/proc/{apart.pid}/autogroup").write_text(str(wanted.nice), encoding="ascii")
        the_effect = cpu_weight.judge(*cpu_weight.both(apart, others), ratio)
    if the_effect.holds is False and is_grouped and wanted.policy not in (attr.FIFO, attr.RR):
        why = f"{the_effect.why}; other sessions do not feel it: kernel.sched_autogroup_enabled = 1"
        return Felt(holds=False, why=why)
    return the_effect


def _deadline(wanted: Attr) -> Felt:
    """Let one that has a deadline want all of a CPU, beside one that has none."""
    with Probe(BURN, 1, WINDOW_S) as own, Probe(BURN, 1, WINDOW_S) as free:
        attr.put(free.pid, Attr(attr.OTHER))
        attr.put(own.pid, wanted)
        free.go()
        shares = [used_share(probe.hear()) for probe in (own.go(), free)]
    return judge_deadline(wanted, *shares)


def used_share(texts: Mapping[str, float]) -> float:
    """The share of a CPU that a burner had, by what it reported."""
    return texts.get("cpu_s", 0.0) / texts.get("wall_s", 1.0)


def judge_deadline(wanted: Attr, share: float, free: float) -> Felt:
    """Whether a burner got its run time in each period, and no more.

    Args:
        wanted: its deadline.
        share: of a CPU that it had.
        free: that one without a deadline had meanwhile: where that is as little, it tells nothing.
    """
    allowed = wanted.runtime / wanted.period
    text = f"a burner used {share:.2f} of a CPU where {allowed:.2f} are its own"
    most = allowed + 2 * wanted.runtime / (WINDOW_S * 1e9) + 0.05  # a period at both ends, a tick
    if share > most:
        return no_effect(text)
    if free <= most:
        why = f"it reads back; {text}: not measured: one without it had {free:.2f} here"
        return Felt(holds=None, why=why)
    return Felt(holds=True, why=text)


def expected(wanted: Attr) -> float:
    """What a thread's share of a CPU is to that of one with no attributes, where both want it.

    >>> expected(Attr(attr.OTHER, nice=-10)) > 9, expected(Attr(attr.BATCH)) == 1
    (True, True)
    """
    if wanted.policy in (attr.FIFO, attr.RR):
        return RT_SHARE
    return IDLE_SHARE if wanted.policy == attr.IDLE else STEP**-wanted.nice
