"""A dump of `sojourn-trace --ring` in full: slow requests, stages, causes, stacks.

`importers.ring` reads the same file as one more result. Here is what a page about it needs. Every
number is checked and every list bounded, because a dump may come from anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sojourn.errors import SpecFault
from sojourn.importers import ring_sums
from sojourn.importers.file import count, fault, number, rows, table, time_ns
from sojourn.visible import in_line

SCHEMA = "sojourn.trace.ring/1"
FAMILY = "sojourn.trace.ring/"
OTHER_VERSION = "read it with the sojourn of the tracer's version, or dump again with this one"
AGAIN = ring_sums.AGAIN
SLOW_MOST = 1_000  # requests that are read; a dump has up to 100,000, slowest first
CULPRITS_MOST, STACK_MOST, SECONDS_MOST, SIGNALS_MOST = 100, 24, 4_000, 100
PARTS_MOST = 50  # stages, or culprits, of one request
LETTERS_MOST = 300
LATEST_NS = 4e18  # the year 2096


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """Who or what took time, over all slow requests.

    Attributes:
        about: in words.
        kind, name: such as `task` and `xz`.
        cgroup, waker: of a task; who ended a sleep. "" where it is not known.
        requests: of which it took the most time.
        ns, share: of the slow requests' time.
        stack: functions of the longest sleep, innermost first.
    """

    about: str
    kind: str
    name: str
    cgroup: str
    waker: str
    requests: int
    ns: float
    share: float
    stack: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One slow request; stages add to its total, culprits are the longest first."""

    start_unix_ns: float
    total_ns: float
    pid: int
    tid: int
    thread: str
    peer_port: int
    port: int
    stages: tuple[tuple[str, float], ...]
    culprits: tuple[tuple[Culprit, float], ...]

    @property
    def at(self) -> str:
        """The time of day at which it began, UTC."""
        return clock(self.start_unix_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Second:
    """The requests of one second; None without a request."""

    end_unix_ns: float
    requests: int
    p99_ns: float | None
    max_ns: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A signal that stopped or ended the service."""

    at_unix_ns: float
    number: int
    pid: int
    sender: str
    sender_pid: int

    @property
    def at(self) -> str:
        """The time of day, UTC."""
        return clock(self.at_unix_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """What the black box had of the last minutes.

    Attributes:
        target, pid: the service.
        cause, answer: why it was dumped, and the answer in a sentence.
        from_unix_ns, seconds: what span it is about.
        requests: that ended in it.
        quantiles: ns by name; None without enough requests.
        over_ns: what is slow enough to start a dump.
        blind: what is missing, by name.
        culprits: longest first.
        slow: the slowest, at most `SLOW_MOST`.
        stored: how many slow requests the file has.
        signals, course: in order; `course` second by second.
        warnings: what the reader should know.
    """

    target: str
    pid: int
    cause: str
    answer: str
    from_unix_ns: float
    seconds: float
    requests: int
    quantiles: Mapping[str, float | None]
    over_ns: float | None
    blind: Mapping[str, float]
    culprits: tuple[Culprit, ...]
    slow: tuple[Request, ...]
    stored: int
    signals: tuple[Signal, ...]
    course: tuple[Second, ...]
    warnings: tuple[str, ...]

    @property
    def at(self) -> str:
        """Date and time of its begin, UTC."""
        return f"{_moment(self.from_unix_ns):%Y-%m-%d} {clock(self.from_unix_ns)}"


def is_dump(document: Any) -> bool:
    """Whether a JSON document says that it is one."""
    return isinstance(document, dict) and document.get("schema") == SCHEMA


def of(document: Any, at: str) -> Dump:
    """The dump that a JSON document is.

    Args:
        document: as parsed.
        at: its file, for messages.

    Raises:
        SpecFault: it is no dump, or is damaged.
    """
    if not is_dump(document):
        schema = document.get("schema") if isinstance(document, dict) else None
        if isinstance(schema, str) and schema.startswith(FAMILY):
            raise fault(f"its form is '{_text(schema)}', and {SCHEMA} is read", at, OTHER_VERSION)
        raise SpecFault(
            "it is no dump of the black box",
            at=at,
            fix="name a ring-….json of `sojourn-trace --ring`; `sojourn open` reads other tools",
        )
    target, cause = (table(document.get(key), key, at) for key in ("target", "cause"))
    listed = rows(document.get("culprits"), "culprits", at)[:CULPRITS_MOST]
    culprits = tuple(_culprit(table(one, "culprits", at), at) for one in listed)
    every = rows(document.get("slow"), "slow", at)
    blind = table(document.get("blind"), "blind", at)
    signals = rows(document.get("signals"), "signals", at)[:SIGNALS_MOST]
    course = rows(document.get("seconds"), "seconds", at)[-SECONDS_MOST:]
    return Dump(
        target=_text(target.get("name")) or "service",
        pid=count(target.get("pid"), "pid", at),
        cause=_text(cause.get("about")),
        answer=_text(document.get("answer")),
        from_unix_ns=_unix(document.get("from_unix_ns"), "from_unix_ns", at),
        seconds=_ns(document.get("duration_ns"), "duration_ns", at) / 1e9,
        requests=ring_sums.requests(document, at),
        quantiles=ring_sums.quantiles(document, at),
        over_ns=_maybe(document.get("over_ns"), "over_ns", at),
        blind=ring_sums.blind(blind, at),
        culprits=culprits,
        slow=tuple(
            _request(table(one, "slow", at), culprits, len(listed), at) for one in every[:SLOW_MOST]
        ),
        stored=len(every),
        signals=tuple(_signal(table(one, "signals", at), at) for one in signals),
        course=tuple(_second(table(one, "seconds", at), at) for one in course),
        warnings=tuple(map(_text, rows(document.get("warnings"), "warnings", at)[:30])),
    )


def clock(unix_ns: float) -> str:
    """The time of day to the millisecond, UTC.

    >>> clock(1_795_741_718_344_127_457)
    '01:08:38.344'
    """
    return _moment(unix_ns).strftime("%H:%M:%S.%f")[:-3]


def _moment(unix_ns: float) -> datetime:
    return datetime.fromtimestamp(unix_ns / 1e9, UTC)


def _culprit(one: dict[str, Any], at: str) -> Culprit:
    share = number(one.get("share"), "share", at)
    if share > 1:
        raise fault(f"a culprit has a share of {share:.3g}, more than all", at, AGAIN)
    return Culprit(
        about=_text(one.get("about")),
        kind=_text(one.get("kind")),
        name=_text(one.get("name")),
        cgroup=_text(one.get("cgroup")),
        waker=_text(one.get("waker")),
        requests=count(one.get("requests"), "requests", at),
        ns=number(one.get("ns"), "ns", at),  # of many requests: longer than any of them
        share=share,
        stack=tuple(map(_text, rows(one.get("stack"), "stack", at)[:STACK_MOST])),
    )


def _request(one: dict[str, Any], culprits: tuple[Culprit, ...], listed: int, at: str) -> Request:
    total_ns = _ns(one.get("total_ns"), "total_ns", at)
    stages = tuple(
        (_text(name), ns) for name, ns in _pairs(one.get("stages"), "stages", total_ns, at)
    )
    blamed = []
    for place, ns in _pairs(one.get("culprits"), "culprits", total_ns, at):
        which = count(place, "culprits", at)
        if which < len(culprits):
            blamed.append((culprits[which], ns))
        elif listed < CULPRITS_MOST:
            raise fault(f"a slow request has culprit {which}, which is not listed", at, AGAIN)
    return Request(
        start_unix_ns=_unix(one.get("start_unix_ns"), "start_unix_ns", at),
        total_ns=total_ns,
        pid=count(one.get("pid"), "pid", at),
        tid=count(one.get("tid"), "tid", at),
        thread=_text(one.get("thread")),
        peer_port=count(one.get("peer_port"), "peer_port", at),
        port=count(one.get("port"), "port", at),
        stages=stages,
        culprits=tuple(blamed),
    )


def _pairs(value: Any, what: str, total_ns: float, at: str) -> list[tuple[Any, float]]:
    """Pairs of something and its time, which together are no longer than the whole."""
    pairs = []
    for one in rows(value, what, at)[:PARTS_MOST]:
        if not isinstance(one, list) or len(one) != 2:
            raise fault(f"one of {what} is no pair", at, AGAIN)
        pairs.append((one[0], _ns(one[1], what, at)))
    if sum(ns for _, ns in pairs) > 1.0001 * total_ns + 1:
        raise fault(f"{what} of a slow request are longer than the request", at, AGAIN)
    return pairs


def _second(one: dict[str, Any], at: str) -> Second:
    return Second(
        end_unix_ns=_unix(one.get("end_unix_ns"), "end_unix_ns", at),
        requests=count(one.get("requests"), "requests", at),
        p99_ns=_maybe(one.get("p99_ns"), "p99_ns", at),
        max_ns=_maybe(one.get("max_ns"), "max_ns", at),
    )


def _signal(one: dict[str, Any], at: str) -> Signal:
    return Signal(
        at_unix_ns=_unix(one.get("at_unix_ns"), "at_unix_ns", at),
        number=count(one.get("number"), "number", at),
        pid=count(one.get("pid"), "pid", at),
        sender=_text(one.get("from")),
        sender_pid=count(one.get("from_pid"), "from_pid", at),
    )


def _ns(value: Any, what: str, at: str) -> float:
    return time_ns(value, what, at, unit_ns=1.0)


def _maybe(value: Any, what: str, at: str) -> float | None:
    return None if value is None else _ns(value, what, at)


def _unix(value: Any, what: str, at: str) -> float:
    moment = number(value, what, at)
    if moment > LATEST_NS:
        raise fault(f"{what} is '{str(value)[:40]}', which is no time of ours", at, AGAIN)
    return moment


def _text(value: Any) -> str:
    """A text in one line: a process may have a line break in its name."""
    return in_line(value[:LETTERS_MOST]) if isinstance(value, str) else ""
