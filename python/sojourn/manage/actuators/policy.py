"""How the kernel orders the threads of a best-effort group.

    "idle", "batch", "other"     SCHED_IDLE, SCHED_BATCH, SCHED_OTHER
    "nice:5"                     SCHED_OTHER with a nice value from 0 to 19

Each thread gets it, and so does one that comes later. The kernel orders control groups first, and
threads within theirs. So how much of a CPU the group gets beside others is for `idle`, `weight` and
`quota`. Across groups a policy decides two things. A thread with "batch" or "idle" preempts no
other when it wakes up (kernel/sched/fair.c, wakeup preemption). And a real-time thread becomes a
fair one, so that `quota`, `weight` and `idle` hold for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sojourn.controllers.look import Level
from sojourn.host import rights
from sojourn.knobs import Lack, Turned, settings
from sojourn.knobs.attr import Attr
from sojourn.knobs.policy import NAMED_MAX, Policy
from sojourn.knobs.policy_level import meant
from sojourn.knobs.settings import Setting
from sojourn.manage.actuators.actuator import Actuator, Member
from sojourn.places import proc

SYS_NICE = 23  # include/uapi/linux/capability.h: CAP_SYS_NICE


class OfThreads(Policy):
    """The policy of all threads of a control group, which no session orders."""

    def __init__(self, on: Turned) -> None:
        super().__init__(on)
        self._own: set[tuple[int, int]] = set()  # threads that had the level by themselves

    def _session(self, wanted: Attr) -> Iterator[Setting]:
        del wanted
        yield from ()

    def give(self, level: str) -> None:
        """Give it to every thread; one that has it by itself is left alone, also at the end."""
        if self._level:
            self.renew()  # who came since has the level before, by inheritance
        self._at_ticks = proc.now_ticks()  # the group lives on, and starts others after a crash
        wanted = meant(level).text
        self._own = {
            key for key, one in self._seen() if one.old == wanted and key not in self._inputs
        }
        self.apply(level)
        self.renew()

    def renew(self) -> str:
        """Note threads that came since, and give it to those that came without.

        They may have it by inheritance. Such a thread is noted with what the first one had.

        Returns:
            Which threads of the group had it, and have another one; "": none.
        """
        tree, wanted = self._on.tree, meant(self._level).text
        every = {key: replace(one, new=wanted) for key, one in self._seen()}
        noted = {
            key: one
            for key, one in self._inputs.items()
            if key in every or settings.read(one, tree)  # it may have left the group
        }
        first = wanted if self._own else Attr(policy=0).text
        usual = next((one.old for one in noted.values()), first)
        known = noted.keys() | self._own
        fresh = {key: one for key, one in every.items() if key not in known}
        self._inputs = noted
        if fresh:
            heirs = [
                replace(one, old=usual) if one.old == wanted else one for one in fresh.values()
            ]
            before = list(self._entries)
            self._change(self._level, heirs)
            for entry in before:
                self._entries.remove(entry)
                self._on.book.undone(entry)
        without = [one for key, one in every.items() if key in known and one.old != wanted]
        names = ", ".join(one.what for one in without[:NAMED_MAX])
        return f"{len(without)} of {len(every)} threads are without it: {names}" if without else ""

    def _seen(self) -> Iterator[tuple[tuple[int, int], Setting]]:
        """Each thread of the group with what it has now, by number and start."""
        return (((one.tid, one.start_ticks), one) for one in self._as_they_are())

    def _heirs(self, usual: Setting) -> Iterator[Setting]:
        """Threads that came with the policy since; what a thread had by itself is its own."""
        every = super()._heirs(usual)
        return (one for one in every if (one.tid, one.start_ticks) not in self._own)

    @property
    def left(self) -> str:
        """Threads that could not be given back what they had."""
        return ", ".join(one.what for one in self._inputs.values())


class ThreadPolicy(Actuator):
    """The policy of a group's threads."""

    knob = "policy"

    def __init__(self, member: Member) -> None:
        super().__init__(member)
        self._policy = OfThreads(member.on)

    def lack(self) -> Lack | None:
        """The right to give a thread back what it had."""
        tree = self.member.on.tree
        if rights.has(tree, SYS_NICE):
            return None
        return Lack(missing="the right to order threads (CAP_SYS_NICE)", fix=rights.fix(tree))

    def put(self, level: Level) -> None:
        """Give it to every thread."""
        self._policy.give(str(level))

    def differs(self) -> str:
        """Where somebody else has given a thread another one."""
        return self._policy.renew()

    def take_off(self) -> str:
        """Give every thread back what it had; those that came since, what the first one had."""
        self._policy.restore()
        left = self._policy.left
        return f"these threads have another policy than before: {left}" if left else ""
