"""A server that runs: where, as what, under which shield and knobs; how it is asked, and ended."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.errors import HostFault, RunFault
from sojourn.host import Placement
from sojourn.knobs import Knob, Offered, Turned
from sojourn.places import Address, Place, proc, process_end, server_files
from sojourn.places.foreign import Foreign
from sojourn.places.hidden import Hidden
from sojourn.places.local import Local
from sojourn.places.place import GuestLinks
from sojourn.places.proc import Stat
from sojourn.places.process import Process
from sojourn.places.task import Task
from sojourn.run import shield
from sojourn.run.moving import Moved
from sojourn.run.shield import Shield, Wish
from sojourn.services import Service, Start, capabilities
from sojourn.services.capabilities import Running
from sojourn.spec import Pin

ANSWER_S_MAX = 2.0


def nothing_to_do() -> None:
    """Undo nothing: what a service that is in no group of the lab's has to leave."""


LOG = "service.log"


@dataclass(slots=True, kw_only=True)
class RunningService:
    """One life of a service, from start to end.

    Attributes:
        life: which points it serves (`Point.life`).
        place: where its programs run; made when it begins, unmade when it ends.
        address: where it listens and the client reaches it; port 0: not known yet.
        usable: all CPUs of the machine.
        wish: the shield it is to have; shield: the one in force, as last read back.
        pin: whether its workers are pinned, one to a CPU in turn.
        has_company: it is measured beside other services, or alone to be compared with that. What
            they do on its CPUs is no fault of the instrument's, and clients share a CPU.
        moved: what left its CPUs, to be put back when it ends.
        levels: of the knobs that the study sets; knobs: all that can be turned while it runs.
        turned: what its knobs are on; None: it has not begun.
        groups: how it is grouped before the scheduler (`run.grouping`).
        ungrouped: why it was not put into a group; "": it was, or none was asked for.
        start: how it was started; None: it was not, or not yet.
        offered: what it and those beside it are offered at the point, by label.
        pins: thread or process to CPU, read back.
        took_s: how long each step took, s.
    """

    label: str
    life: str
    service: Service
    placement: Placement
    work: Path
    usable: tuple[int, ...] = ()
    wish: Wish = Wish(name=shield.NONE, refused="no study asked for one")  # noqa: RUF009  # frozen
    shield: Shield = Shield()  # noqa: RUF009  # frozen
    moved: Moved | None = None
    pin: Pin = Pin.TURN
    has_company: bool = False
    place: Place = Local()  # noqa: RUF009  # frozen
    address: Address = Address(Local().host, 0)  # noqa: RUF009  # frozen
    process: Process | Foreign | None = None
    levels: Mapping[str, str] = field(default_factory=dict)
    knobs: Mapping[str, Knob] = field(default_factory=dict)
    turned: Turned | None = None
    groups: str = "session"
    ungrouped: str = ""
    ungroup: Callable[[], None] = nothing_to_do
    offered: Mapping[str, Offered] = field(default_factory=dict)
    argv: tuple[str, ...] = ()
    start: Start | None = None
    pins: Mapping[int, int] = field(default_factory=dict)
    notes: tuple[tuple[str, str], ...] = ()
    took_s: dict[str, float] = field(default_factory=dict)

    @property
    def port(self) -> int:
        """The port it listens on; 0: none yet."""
        return self.address.port

    @property
    def log(self) -> Path:
        """Path of what the server writes to stdout and stderr."""
        return self.work / LOG

    @property
    def guest_links(self) -> GuestLinks | None:
        """Links of this machine that carry what it moves; None: it is in no guest."""
        return self.place.guest_links

    @property
    def is_shielded(self) -> bool:
        """Whether its threads go before all others on their CPUs (M32)."""
        return bool(self.shield.facts_now)

    @property
    def is_foreign(self) -> bool:
        """Whether it ran already: nothing of it is started, pinned, shielded or ended."""
        return isinstance(self.service, Running)

    @property
    def reply_s(self) -> float:
        """How long a request may take, s; 0: no longer than those of others."""
        return capabilities.reply_s(self.service)

    def client(self) -> dict[str, Any]:
        """Keys of the generator's job that follow from service and placement."""
        server = ",".join(map(str, self.placement.server))
        is_instrument = capabilities.is_instrument(self.service) and not self.has_company
        endpoint = self.service.endpoint(self.address)
        return {
            "target": endpoint.target,
            **endpoint.job,
            "cpus": ",".join(map(str, self.placement.client)),
            "threads": len(self.placement.client),
            "wait": self.placement.client_wait,
            "server_cpus": server,
            **({"instrument_cpus": server} if is_instrument else {}),
        }

    def watched(self) -> dict[str, Any]:
        """Keys of a measured point's job: whose threads the log of the server's CPUs follows (M29).

        What stops a synthetic service is an outage of the instrument instead.
        """
        where = self.placement
        if self.process is None or self.has_company:
            return {}
        watched = {"server_pid": self.process.pid}
        if not self.is_foreign or {*where.server}.isdisjoint(where.client):
            return watched
        # It may run on the client's CPUs, of which the client has a log of its own. There it waits
        # for the client, which is how this service is used here, so such waits void nothing. What
        # missed while they reached most requests still does not count as its own (evidence.py).
        apart = ",".join(str(cpu) for cpu in where.server if cpu not in where.client)
        return {**watched, "server_cpus": apart, "disturbed_share_max": 1.0} if apart else {}

    def members(self) -> tuple[Stat, ...]:
        """Its living processes; none where they cannot be seen."""
        if isinstance(self.process, Foreign):
            return self.process.members()
        return proc.session(self.process.pid) if self.process else ()

    def tasks(self) -> tuple[Task, ...]:
        """The threads of those processes."""
        return proc.tasks_of(self.members())

    def cpu_ns(self) -> int:
        """CPU time its processes have used, ns, those included that ended and were waited for."""
        return sum(member.cpu_ns + member.ended_ns for member in self.members())

    def workers_cpu_ns(self) -> Mapping[int, int]:
        """CPU time of each worker with its crew so far, ns, by thread; {}: it cannot be told."""
        if self.process is None:
            return {}
        tasks = self.tasks()
        at, crew = {task.tid: task.pid for task in tasks}, capabilities.crew(self.service, tasks)
        return {
            tid: sum(proc.thread_ns(at[each], each) for each in (tid, *crew.get(tid, ())))
            for tid in capabilities.pinned(self.service, tasks)
        }

    def fault(self, doing: str) -> RunFault | None:
        """Why it cannot serve any more: it died. None: it lives."""
        ended = self.process.poll() if self.process else None
        if ended is None:
            return None
        words = self.last_words()
        return RunFault(
            f"{self.label} {ended.text} {doing}" + (f", saying: {words}" if words else ""),
            at=f"{' '.join(self.argv)}",
            fix="see service.log in the point's folder; then run the study again: it resumes"
            if not self.is_foreign
            else "start it again, then run the study again: it resumes",
        )

    def answers(self) -> bool:
        """Whether it answers a request now, in the time that its requests may take."""
        return self.service.ready(self.address, max(ANSWER_S_MAX, self.reply_s))

    @property
    def _hidden(self) -> Hidden:
        return Hidden(self.start.secrets if self.start else ())

    def last_words(self) -> str:
        """The end of its log without its secrets; "" if it is empty."""
        return process_end.last_words(self.log, hidden=self._hidden)

    def keep_log(self, folder: Path) -> None:
        """Copy its log into a point's folder, if it wrote anything."""
        with contextlib.suppress(OSError):
            server_files.keep(self.log, folder / LOG, self._hidden)

    def keep_reports(self, folder: Path) -> None:
        """Keep what it wrote when it ended, in the folder of the last point it served."""
        for name in self.start.reports if self.start else ():
            with contextlib.suppress(OSError):
                server_files.keep(self.work / name, folder / name)

    def stop(self) -> None:
        """End it; nothing of it or its place is left, and what was moved for its sake is back."""
        with contextlib.ExitStack() as undone:  # each is tried, whatever the others came to
            undone.callback(self.place.leave)
            undone.callback(self._put_back)
            undone.callback(self.ungroup)
            for knob in self.knobs.values():  # after the end: what was set on it ended with it
                undone.callback(knob.restore)
            undone.callback(self.stop_process)

    def stop_process(self) -> None:
        """End the server, and stay where it was."""
        if self.process is None:
            return
        if self.start is None:
            self.process.stop()
        else:
            self.process.stop(term_s=self.start.stop_s, first=self.start.stop)

    def _put_back(self) -> None:
        if self.moved is not None:
            self.moved.put_back()
            self.moved = None


def check_port(label: str, port: int, place: Place) -> None:
    """Refuse a port that another program has in that place; 0 is always free."""
    if port and not place.is_free(port):
        raise HostFault(
            f"port {port} is taken by {place.holder(port)}",
            at=f"service {label}, port = {port}",
            fix="leave port out to use a free one, or end that program",
        )
