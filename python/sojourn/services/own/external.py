"""A service of the user's own that runs already: nothing of it is started, pinned or changed.

    target → asked three times → its process, if it is on this machine → load

What the lab sees of it is what it may see: CPU time, threads and limits of its processes, if it
runs here and they can be found. It is not restarted, so what differs from start to start is not in
the intervals, and the report says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from sojourn.errors import HostFault, SpecFault
from sojourn.places import foreign, serving
from sojourn.places.foreign import Foreign
from sojourn.places.ports import Address
from sojourn.services.capabilities import (
    Adapts,
    Demands,
    Describes,
    Filling,
    Fills,
    Needs,
    Rows,
    Running,
    Slow,
)
from sojourn.services.clients import connect, talk, where
from sojourn.services.clients.where import Where
from sojourn.services.kind import RUNS_ON, Allowance, Endpoint, Service, ServiceKind
from sojourn.services.own import asked
from sojourn.services.own.asked import Asked, RefusedError
from sojourn.services.own.first_replies import OTHERS, text_of
from sojourn.services.own.proof import Proof
from sojourn.services.params import Param, Value, settle

NAME = "external"
AT = "service external, target"

PARAMS = (
    Param(
        name="target",
        about="its address: a URL, host:port or the path of a unix socket",
        default="",
        type=str,
    ),
    Param(
        name="pid",
        about="its first process, for CPU time, limits and tracing; 0: the process that accepts "
        "connections there",
        default=0,
        lo=0,
        hi=1 << 22,
    ),
    Param(
        name="cgroup",
        about="its control group, such as system.slice/app.service: all processes in it belong to "
        "the service",
        default="",
        type=str,
    ),
    Param(
        name="preload",
        about="memcache, RESP: set all items first. It writes into the user's own service",
        default=False,
        type=bool,
    ),
    *asked.PARAMS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class External(Service, Describes, Demands, Adapts, Running, Fills, Slow):
    """One service that runs already."""

    where: Where
    asked: Asked
    pid: int
    group: str
    warm: int
    proof: Proof = field(default_factory=Proof)

    def setup(self) -> Rows:
        """Where it is, what a right reply is, and what was left alone."""
        return (
            ("target", self.where.url),
            *self.proof.facts,
            (RUNS_ON, "not started, restarted, pinned, shielded or changed by the lab"),
        )

    def needs(self) -> Needs:
        """No workers are known: how many threads serve, and where, is its own affair."""
        return Needs(workers=0, is_pinned=False)

    def endpoint(self, address: Address) -> Endpoint:
        """Where the user said that it is, and what is asked there."""
        del address
        return Endpoint(target=self.where.url, job=self.asked.job(self.where.scheme, self.proof))

    def address(self) -> Address:
        """Host and port as people know them; the socket's path and 0 for a unix socket."""
        return Address(self.where.host or self.where.authority, self.where.port)

    def ready(self, address: Address, within_s: float) -> bool:
        """Whether it answers a request now."""
        del address
        return self.asked.answers(self.where, within_s)

    def filling(self) -> Filling:
        """As the study says; nothing by itself."""
        return Filling(is_preloaded=self.asked.is_preloaded, requests=self.warm)

    def reply_s(self) -> float:
        """How long a request may take, as the first replies show it."""
        return self.proof.reply_s

    def adapted(self, load: Mapping[str, Any], bound_s: float = 0.0) -> Self:
        """The same after it was asked three times.

        Raises:
            HostFault: it is not there, or does not answer as it should; nothing was measured yet.
        """
        report = self.asked.examined(load, bound_s)
        try:
            at = self.where if self.where.scheme else _guessed(self.where)
            return replace(self, where=at, asked=report, proof=report.prove(at))
        except RefusedError as refused:
            raise HostFault(refused.what, at=AT, fix=refused.fix) from None

    def process(self) -> Foreign | None:
        """Its processes, if they are on this machine and can be seen."""
        return processes_at(self.where, self.pid, self.group)


def _guessed(at: Where) -> Where:
    """The same with what is spoken there, which no one reported."""
    Asked(is_plain=False).prove(at.speaking("tcp"))  # is anybody there?
    name, heard = talk.recognise(at)
    scheme = {talk.TLS: "https", "http2": "h2c"}.get(name, name)
    if scheme in where.PORTS:
        return at.speaking(scheme)
    looks = f"it looks like {talk.NAMES[name]}" if name else f"it says {text_of(heard)}"
    raise RefusedError(
        f"what {at.authority} speaks is nothing that the generator speaks: {looks}",
        OTHERS.get(name) or f"name it if it is one of these: {', '.join(where.PORTS)}",
    )


class AmbiguousFault(HostFault):
    """Who serves is not seen: the service can be measured, and its CPU time is not known."""


def processes_at(at: Where, pid: int, group: str) -> Foreign | None:
    """The processes of a service that runs; None where they are elsewhere or hidden.

    Raises:
        HostFault: a process or control group was named that is not there.
        AmbiguousFault: none was named, and several may serve, or who listens passes connections on.
    """
    if group or pid:
        named = foreign.of_group(group) if group else foreign.of_process(pid)
        if named is None:
            what = f"control group '{group}' has no process" if group else f"no process {pid}"
            raise HostFault(
                f"there is {what}" if not group else what,
                at="service external, cgroup" if group else "service external, pid",
                fix="look it up with `ps` or `systemd-cgls`, or leave it out",
            )
        return named
    if not asked.is_here(at):
        return None
    try:
        return foreign.listening(at.port, at.socket, lambda: connect.connected(at))
    except serving.ForwarderError as forwarder:
        raise AmbiguousFault(
            f"{forwarder} listens at {at.authority}, usually for a server elsewhere, such as in a "
            "container",
            at="service external, pid",
            fix="give pid = NUMBER of the server's first process, if it is on this machine (docker "
            "inspect, podman inspect, crictl inspect), or its own if it is the server; or "
            "cgroup = NAME (systemd-cgls)",
        ) from None
    except serving.AmbiguousError as several:
        raise AmbiguousFault(
            f"several processes hold the socket of {at.authority}, and which of them serves cannot "
            f"be seen: {several}",
            at="service external, pid",
            fix="give pid = NUMBER of its first process, or cgroup = NAME (systemd-cgls)",
        ) from None


def cpus(params: Mapping[str, Any]) -> tuple[int, ...]:
    """CPUs on which it may run by itself; () where that cannot be seen."""
    try:
        at = where.parse(str(params.get("target", "")), at=AT)
        its = processes_at(at, int(params.get("pid") or 0), str(params.get("cgroup") or ""))
    except (SpecFault, HostFault, ValueError):
        return ()  # told when it is settled
    return its.cpus() if its else ()


def build(inputs: Mapping[str, Value], allowance: Allowance) -> External:
    """Read where it is; it is not asked anything yet."""
    del allowance
    every = settle(NAME, PARAMS, inputs)
    got = {name: value for name, value in every.items() if value is not None}
    at = where.parse(str(got["target"]), at=AT)
    return External(
        where=at,
        asked=asked.of(got, {}, is_preloaded=bool(got["preload"])),
        pid=int(got["pid"]),
        group=str(got["cgroup"]),
        warm=int(got["warm_requests"]),
    )


KIND = ServiceKind(
    name=NAME,
    about="a running service of your own; it is loaded and not changed",
    params=PARAMS,
    needs=("somebody who listens at `target`",),
    source="docs/howto/your-service.md",
    width=None,
    is_foreign=True,
    cpus=cpus,
    build=build,
)
