"""The agents of a study: one for each client, with its clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.errors import HostFault, RunFault
from sojourn.hosts import answers, clock, copies, parts
from sojourn.hosts.chosen import chosen
from sojourn.hosts.clock import Exchange, HostClock, JumpedError, Reading, reading, same
from sojourn.hosts.engine import Engine, Facts, LostError, Node, Pending, Remote
from sojourn.spec.hosts import HostsSpec

HIRE_S_MAX = 120.0  # a process with Python's libraries, on a busy machine
ANSWER_S_MAX = 10.0  # of an agent that lives
EXCHANGES_MIN = 4
ERROR_NS_ENOUGH = 200_000  # bounds this narrow leave the most of a millisecond for the starts
RESUMES = "see whether that host runs; then run the study again: it resumes"


@dataclass(slots=True, kw_only=True)
class Member:
    """One client's agent.

    Attributes:
        nth: of the clients, from 0.
        facts: what it says of its host.
        clock: its host's, by all readings so far.
        is_here: it reads the lab's own clock: what the exchanges say of it is a check of them.
        is_lost: it has to be hired again before it is asked for anything.
    """

    nth: int
    node: Node
    remote: Remote
    facts: Facts = field(default_factory=dict)
    clock: HostClock
    is_here: bool = False
    is_lost: bool = False

    def there(self, at_ns: int) -> int:
        """What its host's clock shows at an instant of the lab's."""
        return at_ns if self.is_here else self.clock.there(at_ns)

    def here(self, there_ns: int) -> Reading:
        """When its host's clock showed a time, by the lab's."""
        return same(there_ns) if self.is_here else self.clock.here(there_ns)

    @property
    def seen(self) -> tuple[Facts, Reading]:
        """Facts of its host, with the last reading of its clock."""
        return self.facts, self.clock.readings[-1]

    def text(self, count: int) -> str:
        """Number and place, as people read it."""
        return f"client {self.nth + 1} of {count}, on {self.node.text},"

    def ask(self, name: str, *args: Any, within_s: float = ANSWER_S_MAX) -> Any:
        """Ask its agent and wait for the answer, but not for ever.

        Raises:
            LostError: there is none.
        """
        try:
            return self.remote.ask(name, *args).result(within_s)
        except LostError:
            self.is_lost = True
            raise

    def lose(self) -> None:
        """End its agent, which is lost or of no more use; it is hired again when it is needed."""
        self.is_lost = True
        self.remote.end()


def counted(n: int) -> str:
    """A number of clients, for people.

    >>> counted(1), counted(2)
    ('1 client', '2 clients')
    """
    return f"{n} client{'s' * (n != 1)}"


class Crew:
    """The members, in the order of the clients."""

    def __init__(
        self,
        spec: HostsSpec,
        engine: Engine,
        own: Facts,
        now: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Hire an agent for each client, and hear of its host.

        Raises:
            SpecFault: a node is not there.
            HostFault: a host lacks what a client needs.
            RunFault: an agent does not come.
        """
        self.engine, self.own, self._now, self._spec = engine, own, now, spec
        self.turns: Mapping[int, str] = {}  # who holds its machine while load runs, for which study
        first = HostClock((same(now()),))
        self.members = [
            Member(nth=nth, node=node, remote=self._hired(node), clock=first)
            for nth, node in enumerate(chosen(spec, self.nodes()))
        ]
        self._welcome(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def nodes(self) -> tuple[Node, ...]:
        """Those of the cluster; RunFault where its head does not answer."""
        try:
            return self.engine.nodes()
        except LostError as error:
            raise self._headless(str(error)) from None

    def _hired(self, node: Node) -> Remote:
        try:
            return self.engine.hire(node)
        except LostError as error:
            raise self._headless(str(error)) from None

    def _headless(self, why: str) -> RunFault:
        what = f"the cluster cannot be asked: {why}"
        fix = "see whether its head runs; then run the study again: it resumes"
        return RunFault(what, at=f"hosts, {self.engine.about}", fix=fix)

    def _welcome(self, members: Sequence[Member]) -> None:
        """Hear of their hosts, all at once, and begin their clocks anew: they may have restarted.

        Raises:
            HostFault: one lacks what a client needs.
            RunFault: one does not come.
        """
        until_s = time.monotonic() + HIRE_S_MAX
        pending = [(member, self._asked(member, "hello")) for member in members]
        for member, answer in pending:
            try:
                member.facts = answers.table(answer.result(max(1.0, until_s - time.monotonic())))
                self._check_version(member)
                member.facts = answers.facts(member.facts)
            except LostError as error:
                member.is_lost = True
                raise self._lost(member, f"does not come: {error}") from None
            member.is_lost = False
            self._check_needs(member)
        for member in members:
            try:
                member.clock = HostClock((self._read(member),))
            except (LostError, JumpedError) as error:
                member.lose()
                raise self._lost(member, f"does not come: {error}") from None
        known = copies.apart([member.seen for member in self.members], self.own, self._now())
        for member, facts in zip(self.members, known, strict=True):
            member.facts, member.is_here = facts, parts.is_same_clock(facts, self.own)

    def _asked(self, member: Member, name: str) -> Pending:
        try:
            return member.remote.ask(name)
        except LostError as error:
            member.is_lost = True
            raise self._lost(member, f"does not come: {error}") from None

    def _check_version(self, member: Member) -> None:
        for what in ("version", "generator"):
            there, here = str(member.facts.get(what)), str(self.own[what])
            if there != here:
                raise HostFault(
                    f"{member.node.text} has {there or 'no sojourn-load'}, this host {here}",
                    at="hosts.clients",
                    fix="install the same sojourn on every host",
                )

    def _check_needs(self, member: Member) -> None:
        cpus = len(member.facts.get("cpus") or ())
        if cpus < self._spec.cpus:
            raise HostFault(
                f"{member.node.text} has {cpus} CPU{'s' * (cpus != 1)}, "
                f"each client needs {self._spec.cpus}",
                at="hosts.cpus",
                fix="ask for fewer, or leave this host out of hosts.clients",
            )
        lacking = [one for one in self._spec.features if one not in member.facts["features"]]
        if lacking:
            raise HostFault(
                f"{member.node.text} lacks what each client needs: {', '.join(lacking)}",
                at="hosts.features",
                fix="leave it out of hosts.features, or that host out of hosts.clients",
            )

    def ready(self) -> None:
        """Hire again who was lost.

        Raises:
            RunFault: its node is gone, or the agent does not come.
        """
        lost = [member for member in self.members if member.is_lost]
        nodes = self.nodes() if lost else ()
        for member in lost:
            there = next((n for n in nodes if n.id == member.node.id), None)
            again = there or next(
                (n for n in nodes if n.address == member.node.address), None
            )  # a node that was started again has another id
            if again is None:
                raise self._lost(member, "has no host: the node has left the cluster")
            member.node, member.remote = again, self._hired(again)
        self._welcome(lost)

    def read_clocks(self) -> None:
        """Read every clock once more.

        Raises:
            RunFault: an agent is lost, or a clock jumped.
        """
        for member in self.members:
            try:
                member.clock = member.clock.with_reading(self._read(member))
            except LostError as error:
                raise self._lost(member, f"was lost: {error}") from None
            except JumpedError as error:
                member.lose()
                raise self._lost(member, f"cannot be put to this host's clock: {error}") from None

    def _read(self, member: Member) -> Reading:
        exchanges: list[Exchange] = []
        most = clock.exchanges_max(len(self))
        while len(exchanges) < most:
            sent = self._now()
            if not isinstance(stamp := member.ask("stamp"), int):
                raise LostError("its clock is no number")
            exchanges.append(Exchange(sent, stamp, self._now()))
            result = reading(exchanges)
            if len(exchanges) >= min(EXCHANGES_MIN, most) and result.error_ns <= ERROR_NS_ENOUGH:
                break
        return result

    def _lost(self, member: Member, why: str) -> RunFault:
        what = f"{member.text(len(self))} {why}"
        return RunFault(what, at=f"hosts, {self.engine.about}", fix=RESUMES)

    def lost(self, member: Member, why: str) -> RunFault:
        """The fault of a run whose client was lost."""
        member.lose()
        return self._lost(member, why)
