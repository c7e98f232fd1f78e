"""One run of all clients, from start to results. Every wait ends.

The driver asks each agent every `BEAT_S` how it goes. A host that does not answer for `SILENT_S` is
lost, and so is the point: the others end their generators, because a share of the load is another
load. In between the driver sleeps; it wakes early if the server dies.
"""

from __future__ import annotations

import contextlib
import select
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sojourn.actors.clients import Job
from sojourn.errors import Fault, RunFault, SpecFault
from sojourn.hosts import answers
from sojourn.hosts.clock import Bounds, Exchange, JumpedError
from sojourn.hosts.crew import Crew, Member
from sojourn.hosts.engine import LostError, Pending
from sojourn.run import generator_job
from sojourn.run.generator import Watcher
from sojourn.run.generator_output import WINDOW, known, summed
from sojourn.run.watch import Deadline

BEAT_S = 1.0
NEAR_S = 0.1  # the same once the load is over, when results are all that is waited for
NEAR_EACH_S = 0.5e-3  # more for each client: a question costs the lab's host so much
IN_FLIGHT = 64
SILENT_S = 10.0
TAKE_S_MAX = 60.0  # a large result over a slow link


class Following:
    """How one client goes on."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.line: Mapping[str, Any] = {}
        self._last: Mapping[str, Any] = {}
        self.is_over = False
        self.fault: Mapping[str, str] | None = None
        self._pending: Pending | None = None
        self._is_beginning = False
        self._bounds: Bounds | None = None
        self._since_s, self._sent_ns = 0.0, 0

    def begin(self, job: Job, turns: str, study: str) -> None:
        """Give it its job. Others are asked how they go before it has answered.

        One that begins slowly would else be the end of the others, which take a driver that does
        not ask for one that is dead.
        """
        self._since_s = time.monotonic()
        self._pending = self.member.remote.ask("start", job, turns, study)
        self._is_beginning = True

    def beat(self) -> None:
        """Ask how it goes, if the last answer is there."""
        if self._pending is None and not self.is_over:
            self._sent_ns = time.monotonic_ns()
            self._pending, self._since_s = self.member.remote.ask("look"), time.monotonic()

    def hear(self) -> bool:
        """Take the answer, if it is there; whether it has a new line of progress.

        Raises:
            LostError: there is none, and there will be none, or its host's clock was set.
        """
        if self._pending is None:
            return False
        if not self._pending.is_there():
            if time.monotonic() - self._since_s > SILENT_S:
                raise LostError(f"no answer for {SILENT_S:.0f} s")
            return False
        pending, self._pending = self._pending, None
        table = pending.result(SILENT_S)
        if self._is_beginning:
            self._is_beginning, self.fault = False, answers.fault(table)
            return False
        with answers.sensible():
            self.is_over, self.fault = bool(table["is_over"]), answers.fault(table["fault"])
            line = known(table["line"])
            self._check_clock(table.get("stamp"), pending.came_ns)
        if not line or line == self._last:
            return False
        self.line = self._last = line
        return True

    def _check_clock(self, stamp: object, came_ns: int | None) -> None:
        if not isinstance(stamp, int) or came_ns is None:
            return
        self._bounds = self._bounds or Bounds(self.member.clock.readings[-1])
        try:
            self._bounds.add(Exchange(self._sent_ns, stamp, came_ns))
        except JumpedError as error:
            raise LostError(str(error)) from None

    def handed(self) -> Mapping[str, Any]:
        """Its last line of progress, with its window the first time: its requests count once."""
        line, self.line = self.line, {k: v for k, v in self.line.items() if k != WINDOW}
        return line


def run(crew: Crew, jobs: Sequence[Job], turns: str, ahead_s: float, watcher: Watcher) -> None:
    """Run a job on each host to its end.

    Args:
        crew: whose clocks were read a moment ago.
        jobs: of each member, with `start_at` by its host's clock.
        turns: name for clients that share a CPU.
        ahead_s: how far ahead their start is.
        watcher: of the server.

    Raises:
        SpecFault: a job is refused.
        RunFault: a client failed or was lost, or the server was.
    """
    following = [Following(member) for member in crew.members]
    try:
        for nth, (one, job) in enumerate(zip(following, jobs, strict=True)):
            with _lost(crew, one.member):
                one.begin(dict(job), turns if "turns" in job else "", crew.turns.get(nth, ""))
        own = [{**job, "start_at": 0} for job in jobs]  # which is of another clock
        over_s = time.monotonic() + ahead_s + max(map(generator_job.load_length_s, own))
        length_s = ahead_s + max(map(generator_job.length_s_max, own)) + SILENT_S
        _follow(crew, following, watcher, Deadline(length_s), over_s)
    except BaseException:
        drop(crew)
        raise


def each(
    crew: Crew, name: str, args: Sequence[Sequence[Any]], within_s: float
) -> Iterator[tuple[Member, Any]]:
    """Ask all members something; their answers in order, as they come.

    `IN_FLIGHT` of them are asked at once, so that answers do not fill the memory.

    Args:
        crew: who is asked.
        name: of the method.
        args: for each member.
        within_s: for each answer, since the one before.

    Raises:
        RunFault: one is lost.
    """
    pending: deque[tuple[Member, Pending]] = deque()
    rest = list(zip(crew.members, args, strict=True))[::-1]
    while rest or pending:
        while rest and len(pending) < IN_FLIGHT:
            member, own = rest.pop()
            with _lost(crew, member):
                pending.append((member, member.remote.ask(name, *own)))
        member, answer = pending.popleft()
        with _lost(crew, member):
            result = answer.result(within_s)
        yield member, result


@contextlib.contextmanager
def _lost(crew: Crew, member: Member) -> Iterator[None]:
    """A member that is lost in here is the fault of the run."""
    try:
        yield
    except LostError as error:
        raise crew.lost(member, f"was lost: {error}") from None


def _follow(
    crew: Crew, every: Sequence[Following], watcher: Watcher, deadline: Deadline, over_s: float
) -> None:
    near_s = min(BEAT_S, NEAR_S + NEAR_EACH_S * len(every))
    while any(not one.is_over for one in every):
        for one in every:
            with _lost(crew, one.member):
                one.beat()
        nap_s = min(BEAT_S, max(near_s, over_s - time.monotonic()))
        ready, _, _ = select.select(watcher.sources(), [], [], nap_s)
        if ready:
            watcher.look()
        is_new = False
        for one in every:
            with _lost(crew, one.member):
                is_new |= one.hear()
            if one.fault is not None:
                raise fault_of(one.member, one.fault, len(crew))
        if is_new and all(one.line for one in every):
            whole = summed([one.handed() for one in every])
            watcher.of_load(0, whole)
            watcher.second(whole)
        if deadline.is_over:
            late = next(one for one in every if not one.is_over).member
            raise crew.lost(late, f"did not end within {deadline.length_s:.0f} s")


def fault_of(member: Member, fault: Mapping[str, str], count: int) -> Fault:
    """What a generator says of its failure; where, says which client."""
    kind = SpecFault if fault["kind"] == "spec" else RunFault
    at = f"{fault['at']}, {member.text(count).rstrip(',')}"
    return kind(str(fault["what"]), at=at, fix=str(fault["fix"]))


def refused(crew: Crew, member: Member, answer: object) -> Fault:
    """The fault that an agent hands over, or that it is lost because that is none."""
    with _lost(crew, member):
        if (fault := answers.fault(answer)) is None:
            raise LostError(answers.NONSENSE)
    return fault_of(member, fault, len(crew))


def drop(crew: Crew) -> None:
    """Let all end what they run; who does not answer is ended, and its warden ends the rest."""
    pending = []
    for member in crew.members:
        with contextlib.suppress(LostError):
            pending.append((member, member.remote.ask("drop")))
    until_s = time.monotonic() + SILENT_S  # for all together: many may be behind one dead link
    for member, answer in pending:
        try:
            answer.result(max(0.1, until_s - time.monotonic()))
        except LostError:
            member.lose()


def take(crew: Crew, member: Member, name: str) -> bytes:
    """A file of its run.

    Raises:
        RunFault: it is lost.
    """
    try:
        return answers.content(member.ask("take", name, within_s=TAKE_S_MAX))
    except LostError as error:
        raise crew.lost(member, f"was lost before its result was here: {error}") from None
