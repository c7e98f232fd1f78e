"""Leading signals of groups: they rise before the tail does.

accept_queue         connections that wait to be accepted by a service
receive_queue_bytes  bytes that wait to be read in its connections
psi_cpu, psi_io,     share of time in which some task of the group waited for it
psi_memory           (control groups of version 2)
disk                 bytes/s that it reads and writes, on all disks or on the one that it names
network              bytes/s that it receives and sends, where its network namespace is its own
memory_bandwidth     bytes/s between its tasks and memory (resctrl)
cache_bytes          bytes of its tasks in the last cache (resctrl)

What cannot be read is absent, and `missing` says why. The accept queue is read at each look where
sock_diag answers, because the kernel has few sockets that listen. The rest is repeated as seldom
as its CPU time asks for, and says its age.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sojourn.controllers.look import Signal
from sojourn.controllers.made import signal
from sojourn.host import reading, sockets
from sojourn.host.sockets import ESTABLISHED, LISTEN, Queue
from sojourn.host.tree import Tree
from sojourn.manage import accounts, facts, monitors
from sojourn.manage.facts import Facts
from sojourn.manage.groups import Managed
from sojourn.manage.spared import Spared

#: Of one core, that these readings of all groups together may take.
FACTS_SHARE, QUEUES_SHARE, ACCOUNTS_SHARE = 2e-4, 4e-4, 4e-4
LISTENING_SHARE = 1e-4  # of queues where no rule reads them, as long as requests have answers
ENDED_S = 1.0  # a process with much memory takes so long to end
FACTS_S = 2.0  # at least between two looks at what changes seldom
ACCOUNTS_S = 0.45  # and at what only grows: as often as the machine's own pressure is read
ACCEPT, RECEIVE = facts.QUEUES
FIRST = "a rate needs two readings"
SHRANK = "its count shrank"
UNREADABLE = "it cannot be read"
SHARED = "others listen on its ports"
CROWDED = "another group has the same network namespace"


@dataclass(slots=True)
class _State:
    """Of one group.

    Attributes:
        values: of signals, with the time of their reading, s.
        totals: the same of what they are differences of.
        missing: why others are absent.
        reasons: the same, with those of the facts.
        is_quiet: whether no request had an answer at the look before.
        again_s: when the facts are read again because of that.
    """

    facts: Facts = field(default_factory=Facts)
    values: dict[str, tuple[float, float]] = field(default_factory=dict)
    totals: dict[str, tuple[float, float]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    is_changed: bool = True
    is_quiet: bool = False
    again_s: list[float] = field(default_factory=list)
    of_facts: Spared = field(default_factory=lambda: Spared(FACTS_SHARE, FACTS_S))
    of_queues: Spared = field(default_factory=lambda: Spared(QUEUES_SHARE))
    of_listening: Spared = field(default_factory=lambda: Spared(LISTENING_SHARE))
    of_accounts: Spared = field(default_factory=lambda: Spared(ACCOUNTS_SHARE, ACCOUNTS_S))

    def put(self, name: str, value: float | None, t_s: float, why: str = UNREADABLE) -> None:
        """A signal was read; None: it is absent, because of `why`."""
        if value is None:
            self.values.pop(name, None)
            self.is_changed |= self.missing.get(name) != why
            self.missing[name] = why
        else:
            self.values[name] = value, t_s
            self.is_changed |= self.missing.pop(name, None) is not None

    def put_rate(self, name: str, total: float | None, t_s: float) -> None:
        """The total of a signal was read, which is how fast it grows."""
        before = self.totals.pop(name, None)
        if total is None:
            self.put(name, None, t_s)
            return
        self.totals[name] = total, t_s
        if before is None or t_s <= before[1]:
            self.put(name, None, t_s, FIRST)
        elif total < before[0]:
            self.put(name, None, t_s, SHRANK)
        else:
            self.put(name, (total - before[0]) / (t_s - before[1]), t_s)


class Leading:
    """Reads them, and remembers the reading before.

    Attributes:
        is_each: whether somebody may need what waits to be accepted as it is at each look.
    """

    def __init__(self, tree: Tree) -> None:
        """Nothing was read yet.

        Args:
            tree: the machine's files.
        """
        self.is_each = True
        self._tree = tree
        self._diag = sockets.diag(tree)
        self._states: dict[str, _State] = {}

    def forget(self, name: str) -> None:
        """A group vanished; one of its name is another."""
        self._states.pop(name, None)

    def of_group(
        self, group: Managed, t_s: float, *, is_quiet: bool = False
    ) -> tuple[dict[str, Signal], Mapping[str, str]]:
        """Its signals, and why others are absent.

        Args:
            group: that is there.
            t_s: now.
            is_quiet: no request has an answer. Somebody may wait, so queues are read at once, and
                more often. The service may have ended, so its facts are read at once as well, and
                again when it has had the time to end.
        """
        state = self._states.setdefault(group.name, _State())
        if is_quiet and not state.is_quiet:
            state.again_s = [t_s, t_s + ENDED_S]
            state.of_queues = Spared(QUEUES_SHARE)  # due now: does anybody wait?
        state.of_queues.share = QUEUES_SHARE if is_quiet or self.is_each else LISTENING_SHARE
        state.is_quiet = is_quiet
        is_again = bool(is_quiet and state.again_s and t_s >= state.again_s[0])
        if is_again:
            state.again_s.pop(0)
        if is_again or state.of_facts.is_due(t_s):
            with state.of_facts.reading(t_s, len(self._states)):
                self._renew(state, facts.of(group, self._tree, self._diag))
        if state.facts.ports:
            self._read_queues(state, t_s)
        if state.of_accounts.is_due(t_s):
            with state.of_accounts.reading(t_s, len(self._states)):
                self._read_accounts(state, group.disk, t_s)
        if state.is_changed:
            state.reasons, state.is_changed = {**state.missing, **state.facts.missing}, False
        signals = {
            name: signal(value, round((t_s - at_s) * 1000, 1))
            for name, (value, at_s) in state.values.items()
        }
        return signals, state.reasons

    @staticmethod
    def _renew(state: _State, now: Facts) -> None:
        """Drop what is not to be read any more, or from elsewhere."""
        before, state.facts, state.is_changed = state.facts, now, True
        if before.namespace != now.namespace:
            state.totals.pop("network", None)
        if before.monitor != now.monitor:
            state.totals.pop("memory_bandwidth", None)
        for name in now.missing:
            for one in (state.values, state.totals, state.missing):
                one.pop(name, None)

    def _read_queues(self, state: _State, t_s: float) -> None:
        now, diag = state.facts, None if state.facts.at else self._diag
        count = sum(bool(one.facts.ports) for one in self._states.values())
        if diag and (self.is_each or state.of_listening.is_due(t_s)):
            with state.of_listening.reading(t_s, count):
                state.put(ACCEPT, _waiting(diag.queues(LISTEN, now.ports), LISTEN, now), t_s)
        if not state.of_queues.is_due(t_s):
            return
        with state.of_queues.reading(t_s, count):
            every: list[Queue] | None = []
            if diag is None:
                every = sockets.of_process(self._tree, now.at)
                every = every if self._is_in(now, now.at) else None
                state.put(ACCEPT, _waiting(every, LISTEN, now), t_s)
            elif not now.others:
                every = diag.queues(ESTABLISHED, now.ports)
            if now.others:
                state.put(RECEIVE, None, t_s, SHARED)
            else:
                state.put(RECEIVE, _waiting(every, ESTABLISHED, now), t_s)

    def _read_accounts(self, state: _State, disk: str, t_s: float) -> None:
        tree, now, asked = self._tree, state.facts, state.facts.missing
        for name in facts.PRESSURES:
            if name not in asked:
                total = accounts.pressure_s(tree, now.pressure, name.removeprefix("psi_"))
                state.put_rate(name, total, t_s)
        if "disk" not in asked:
            total = accounts.disk_bytes(tree, now.disk, now.version, disk)
            state.put_rate("disk", total, t_s)
        if "network" not in asked:
            self._read_network(state, t_s)
        if now.monitor:
            moved = monitors.total(tree, now.monitor, monitors.MOVED)
            state.put_rate("memory_bandwidth", moved, t_s)
            state.put("cache_bytes", monitors.total(tree, now.monitor, monitors.OCCUPANCY), t_s)

    def _read_network(self, state: _State, t_s: float) -> None:
        """Where another managed group is in the namespace too, its bytes are not the group's."""
        namespaces = [one.facts.namespace for one in self._states.values()]
        if namespaces.count(state.facts.namespace) > 1:
            state.totals.pop("network", None)
            state.put("network", None, t_s, CROWDED)
        else:
            moved = accounts.network_bytes(self._tree, state.facts.pid)
            is_own = self._is_in(state.facts, state.facts.pid)
            state.put_rate("network", moved if is_own else None, t_s)

    def _is_in(self, now: Facts, pid: int) -> bool:
        """Whether a process is in the group's network namespace: another may have its number now.

        It is asked after its files were read.
        """
        return reading.inode(self._tree, facts.links(pid)) == now.namespace


def _waiting(queues: list[Queue] | None, state: int, now: Facts) -> int | None:
    """What waits in a service's sockets of this state together; None: they are not known."""
    if queues is None:
        return None
    return sum(
        one.waiting
        for one in queues
        if one.state == state and one.port in now.ports and one.inode not in now.others
    )
