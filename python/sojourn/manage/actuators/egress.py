"""How fast a best-effort group may send: HTB on a link that is the group's alone.

The kernel's queues do not know of control groups. So a group is limited where it has a network
namespace of its own, as containers have: all that leaves by its link goes through one bucket. What
it receives is not limited. The effect is what the link counts as sent (/proc/PID/net/dev), which
counts behind the bucket.
"""

from __future__ import annotations

import contextlib
import secrets
import time

from sojourn.controllers.look import Level
from sojourn.host.usage.moment import interfaces
from sojourn.knobs import Asked, Lack, egress, htb, net_space
from sojourn.knobs.htb import Bucket
from sojourn.manage.actuators.actuator import Actuator, Member

LEAST_BPS = 1000  # a packet of 1500 bytes each 1.5 s
OVER, MORE = 1.25, 1e5  # what was sent above rate · OVER + MORE bytes/s is too much
SPAN_S = 0.4  # of a rate, at the least
HAS_IT = "has the same network namespace"
RIGHTS = "CAP_SYS_ADMIN, CAP_SYS_PTRACE"
ROOT = "run as root (sudo)"
READ_S = 5.0  # between two readings of the bucket, which cost a thread and a netlink socket


class Sending(Actuator):
    """The rate at which a group sends."""

    knob = "egress"

    def __init__(self, member: Member) -> None:
        super().__init__(member)
        self._bucket: Bucket | None = None
        self._entry = 0
        self._seen: tuple[float, int] | None = None
        self._bps = 0.0
        self._read_s = 0.0
        self._strangers: frozenset[int] = frozenset()

    def lack(self) -> Lack | None:
        """A link that is the group's alone, with no queue that somebody else has set."""
        on, link = self.member.on, self.member.spec.link
        if not link:
            return Lack(missing="a link of its own", fix='name it, such as link = "eth0"')
        if lack := egress.lacks(Asked(level="", tree=on.tree)):
            return lack
        try:
            if self._bucket is None:
                self._free()
        except PermissionError:
            return Lack(missing=f"the right to enter network namespaces ({RIGHTS})", fix=ROOT)
        except OSError as error:
            return Lack(missing="a link of its own", fix=str(error.strerror))
        return None

    def _free(self) -> Bucket:
        """A bucket that could be made; OSError if the link is not the group's alone."""
        link, spaces = self.member.spec.link, self._spaces()
        if len({*spaces.values()}) != 1:
            many = "its processes are in several network namespaces" if spaces else "it is empty"
            raise OSError(0, f"{many}: give the group one of its own")
        (pid, space), *_ = spaces.items()
        if _is_machines(pid):
            raise OSError(0, "it sends by the machine's links: give it a network namespace")
        if others := self._others(space) & self._others(space):  # the first may have ended since
            raise OSError(0, f"process {min(others)}, which is not of the group, {HAS_IT}")
        if self._sent(pid) is None:
            raise OSError(0, f"its network namespace has no link {link}")
        netns, major = net_space.of_process(pid), secrets.choice(egress.MAJORS)
        bucket = Bucket(link=link, netns=netns, major=major, space=space)
        kind, handle = htb.root_of(bucket)
        if handle:
            raise OSError(0, f"{link} has a qdisc {kind} already: remove it (tc qdisc del)")
        return bucket

    def _others(self, space: str) -> frozenset[int]:
        """Who else sends by the namespace's links, as a pod's other containers do."""
        return net_space.members(space) - self._spaces().keys()

    def _spaces(self) -> dict[int, str]:
        """The network namespace of each of its processes."""
        pids = self.member.on.pids() if self.member.on.pids else ()
        return {pid: space for pid in pids if (space := net_space.number(pid))}

    def put(self, level: Level) -> None:
        """Make the bucket, if it is not there yet, and set its rate, bytes/s."""
        bps = max(LEAST_BPS, round(float(level or 0)))
        if self._bucket is None:
            self._make(bps)
        else:
            htb.set_rate(self._bucket, bps)
        self._seen, self._bps, self._read_s = None, 0.0, time.monotonic()

    def _make(self, bps: int) -> None:
        """Make the bucket. The namespace is held meanwhile, so that its number is no other's.

        Else the group could end between the two, and the next namespace have the number.
        """
        space = self._free().space
        with net_space.opened(space) as entrance:
            bucket = self._free()
            if entrance is None or bucket.space != space:
                raise OSError(0, "its network namespace changes: wait until it has started")
            self._entry = self.member.on.book.note(htb.ENTRY, **bucket.facts())
            self._bucket = bucket
            htb.make(bucket, None, bps)

    def differs(self) -> str:
        """Where the bucket is gone or has another rate, or a process sends by another way."""
        if self.level is None or self._bucket is None:
            return ""
        for pid, space in self._spaces().items():
            with contextlib.suppress(FileNotFoundError):  # it has ended
                if space != self._bucket.space and _is_machines(pid):
                    return f"process {pid} has left the group's network namespace"
        if time.monotonic() - self._read_s < READ_S:
            return ""
        self._read_s = time.monotonic()
        wanted = max(LEAST_BPS, round(float(self.level)))
        bps = htb.rate(self._bucket) if htb.is_there(self._bucket) else 0
        if abs(bps - wanted) > egress.TOLERANCE * wanted and self._spaces():
            return f"egress was set to {wanted} bytes/s and reads {bps or 'none'}"
        before, self._strangers = self._strangers, self._others(self._bucket.space)
        lasting = before & self._strangers  # who starts a container is in it for a moment
        return f"process {min(lasting)}, which is not of the group, {HAS_IT}" if lasting else ""

    def over(self, t_s: float) -> str:
        """Whether the link has sent more than the rate since the last span."""
        if self.level is None or self._bucket is None:
            return ""
        inside = (pid for pid, space in self._spaces().items() if space == self._bucket.space)
        sent = next((n for pid in inside if (n := self._sent(pid)) is not None), None)
        if sent is None:
            self._seen = None
            return ""
        if self._seen is None or t_s - self._seen[0] >= SPAN_S:
            if self._seen is not None:
                self._bps = (sent - self._seen[1]) / (t_s - self._seen[0])
            self._seen = t_s, sent
        allowed = max(LEAST_BPS, float(self.level))
        if self._bps <= allowed * OVER + MORE:
            return ""
        return f"it sent {self._bps / 1e6:.3g} MB/s where {allowed / 1e6:.3g} are allowed"

    def _sent(self, pid: int) -> int | None:
        """Bytes that left by its link so far; None: there is no such link."""
        one = interfaces(self.member.on.tree, pid).get(self.member.spec.link)
        return one[2] if one else None

    def take_off(self) -> str:
        """Remove the bucket; the link has what it had."""
        bucket, self._bucket, self._seen, self._bps = self._bucket, None, None, 0.0
        if bucket is None:
            return ""
        try:
            htb.remove(bucket)
        except OSError as error:
            self._bucket = bucket
            return f"the bandwidth limit on {bucket.link} cannot be removed: {error.strerror}"
        self.member.on.book.undone(self._entry)
        return ""


def _is_machines(pid: int) -> bool:
    """Whether a process sends by the links of the machine or of the manager; OSError if hidden."""
    return any(net_space.are_one(pid, who) for who in (1, "self"))
