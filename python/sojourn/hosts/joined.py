"""What the clients brought home → one result, and whether they were one.

Histograms, windows and counts add up bin for bin; no quantile is averaged. Times that are of a
host's own clock are put to the lab's first. `hosts.json` beside the result says where each client
ran, how well its clock is known, when it began and what it supplies of the slow requests. Its
`doubts` make the point `unknown`: clients that did not begin together, one that is too slow.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn import disk, units
from sojourn.actors import clients
from sojourn.actors.clients import Job, hdr, logs
from sojourn.errors import RunFault
from sojourn.hosts import pack, windows
from sojourn.hosts.clock import Reading, spread_ns
from sojourn.hosts.crew import Crew, Member, counted
from sojourn.hosts.pack import Opened
from sojourn.hosts.parts import machine_of
from sojourn.hosts.tail import FALSE_RATE, QUANTILES, TIMES, Tail, last_bin, named, tails, unequal
from sojourn.run.generator_job import Files
from sojourn.samples import HOSTS
from sojourn.visible import in_line

SCHEMA = "sojourn.hosts/1"
SPREAD_NS_MAX = 1_000_000
MAIN = 0.99  # the quantile that `hosts.json` shows of each client


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one client brought home.

    Attributes:
        opened: its result, histograms and slices.
        start: of the warm-up, by the lab's clock.
    """

    member: Member
    job: Job
    files: Files
    opened: Opened
    start: Reading

    @property
    def result(self) -> Mapping[str, Any]:
        """As it wrote it, without the texts of histograms."""
        return self.opened.result

    @property
    def corrected(self) -> dict[str, Any]:
        """Its result with its start and its windows by the clocks of the lab's host."""
        if self.member.is_here:
            return dict(self.result)
        warm_ns = units.parse_ns(str(self.result["job"]["warmup"]))
        unix_ns = self.start.at_ns + warm_ns + time.time_ns() - time.monotonic_ns()
        return {
            **self.result,
            "start_ns": self.start.at_ns,
            "started_unix_ns": unix_ns,
            "windows": windows.aligned(self.result.get("windows"), self.pace),
        }

    @property
    def pace(self) -> float:
        """How long a second of its host's clock was by the lab's while it ran, s."""
        length_ns = round(float(self.result["measured_s"]) * units.NS_PER_S)
        if length_ns <= 0:
            return 1.0
        end = self.member.here(int(self.result["start_ns"]) + length_ns)
        return (end.at_ns - self.start.at_ns) / length_ns


def opened(table: object, files: Files) -> Opened:
    """A client's result, which a stranger may have written.

    Raises:
        RunFault: it does not follow its contract.
    """
    with _contract(files):
        return pack.opened(table)


@contextlib.contextmanager
def _contract(files: Files) -> Iterator[None]:
    """What a client wrote does not follow its contract, where adding it up fails in here."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise RunFault(
            f"a client's result does not follow its contract: {in_line(str(error))}",
            at=str(files.result),
            fix="install the same sojourn there",
        ) from error


def part(member: Member, job: Job, files: Files, own: Opened) -> Part:
    """What a client brought home, with its start by the lab's clock."""
    with _contract(files):
        start = member.here(int(own.result["start_ns"]))
    return Part(member=member, job=job, files=files, opened=own, start=start)


def joined(crew: Crew, parts: Sequence[Part], job: Job, files: Files) -> dict[str, Any]:
    """Write the result of all, and what it is made of; returns the result."""
    every = [part.opened for part in parts]
    machines = [machine_of(part.member.facts, part.member.nth) for part in parts]
    with _contract(files):
        whole = clients.merged([part.corrected for part in parts], job, pack.Sums(every), machines)
    disk.keep_json(files.result, whole, indent=1)
    if job.get("hlog"):
        disk.keep_text(Path(str(job["hlog"])), pack.merged_hlog(every))
    if job.get("raw"):
        logs.merge_raw([Path(str(part.job["raw"])) for part in parts], Path(str(job["raw"])))
    with _contract(files):
        table = _about(crew, parts, _tails(parts, whole))
    disk.keep_json(files.result.parent / HOSTS, table, indent=1)
    return whole


def together_text(parts: Sequence[Part]) -> str:
    """How well clocks are known, and how far apart clients began, for people.

    A clock that is the lab's own is known; what exchanges say of it then shows what they are worth.
    """
    last = [part.member.clock.readings[-1] for part in parts]
    error, away = max(one.error_ns for one in last), max(abs(one.offset_ns) for one in last)
    spread = spread_ns([part.start for part in parts])
    return (
        f"{counted(len(parts))} began within {units.show_ns(spread, 1)}; their clocks are up to "
        f"{units.show_ns(away, 1)} off the lab's, known to {units.show_ns(error, 1)}"
    )


def _tails(parts: Sequence[Part], whole: Mapping[str, Any]) -> dict[float, tuple[Tail, ...]]:
    """What each supplies above quantiles of all together, slice by slice, by quantile.

    Without an interval log the run is one slice, of which no one is named.
    """
    total = hdr.counts(str(whole["sojourn_ns"]["hdr"])).copy()
    total[hdr.bin_of(hdr.MAX_NS)] += int(whole["sojourn_ns"]["lost"])  # as the interval log has it
    requests = _above(parts, -1)
    return {q: tails(requests, _above(parts, last_bin(total, q))) for q in QUANTILES}


def _above(parts: Sequence[Part], last: int) -> NDArray[np.int64]:
    """Requests of each in bins above one, by slices that all have."""
    plain = [len(part.opened.plain) for part in parts]
    if not all(plain):
        spans = (part.opened.spans["sojourn_ns"] for part in parts)
        every = [[int(n[bins.astype(np.int64) > last].sum(dtype=np.int64))] for bins, n in spans]
        return np.array(every, np.int64)
    return np.array([part.opened.by_slice(last)[: min(plain)] for part in parts], np.int64)


def _about(
    crew: Crew, parts: Sequence[Part], every: Mapping[float, Sequence[Tail]]
) -> dict[str, Any]:
    """What `hosts.json` says of all."""
    spread = spread_ns([part.start for part in parts])
    return {
        "schema": SCHEMA,
        "engine": crew.engine.about,
        "clients": [_client(part, one) for part, one in zip(parts, every[MAIN], strict=True)],
        "starts": {"within_ns": round(spread), "within_ns_max": SPREAD_NS_MAX},
        "tail": {
            "quantiles": list(QUANTILES),
            "times": TIMES,
            "false_rate": FALSE_RATE,
            "named": list(named(every)),
            "unequal": list(unequal(every)),
        },
        "doubts": [*_late(spread), *_slow(crew, parts, every)],
    }


def _client(part: Part, tail: Tail) -> dict[str, Any]:
    clock, result = part.member.clock, part.result
    drift, drift_error = clock.drift()
    last = clock.readings[-1]
    return {
        "host": part.member.node.name,
        "address": part.member.node.address,
        "cpus": str(result["job"].get("cpus", "")),
        "seed": result["job"]["seed"],
        "threads": result["job"].get("threads", 1),
        "timely_within": str(result["job"].get("timely_within", "")),
        "clock": {
            "is_the_labs": part.member.is_here,
            "offset_ns": round(last.offset_ns),
            "error_ns": round(last.error_ns),
            "drift_ppm": round(drift * 1e6, 3) if drift_error < 1e-4 else None,
            "drift_error_ppm": round(drift_error * 1e6, 3),
            "shortest_exchange_ns": last.way_ns,
            "exchanges": last.exchanges,
        },
        "start_ns": part.start.at_ns,
        "start_error_ns": round(part.start.error_ns),
        "requests": result["requests"],
        "offered_rps": result["offered_rps"],
        "cost": result["cost"],
        "verdict": result["verdict"],
        "network": part.opened.network,
        "p50_ns": result["sojourn_ns"]["p50"],
        "p99_ns": result["sojourn_ns"]["p99"],
        "above_p99": {
            "requests": tail.beyond,
            "times_the_others": _finite(tail.factor),
            "p": tail.p,
            "steadiness": round(tail.steadiness, 3),
        },
    }


def _finite(factor: float | None) -> float | None:
    return None if factor is None or factor == float("inf") else round(factor, 3)


def _late(spread: float) -> list[str]:
    if spread <= SPREAD_NS_MAX:
        return []
    most = units.show_ns(SPREAD_NS_MAX)
    why = f"clients apart: their starts may differ by {units.show_ns(spread)}, {most} may be"
    return [f"{why}; use a nearer or quieter network"]


def _slow(
    crew: Crew, parts: Sequence[Part], by_quantile: Mapping[float, Sequence[Tail]]
) -> list[str]:
    """Who has too many slow requests: what a client does and what is behind it look the same."""

    def text(nth: int, q: float) -> str:
        every, member = by_quantile[q], parts[nth].member
        share = every[nth].beyond / sum(one.beyond for one in every)
        factor = _finite(every[nth].factor)
        times = f"{factor:.1f} times as often as" if factor else "and none comes from"
        return (
            f"client {nth + 1} of {len(crew)}, on {member.node.text}, has {share:.0%} of the "
            f"requests above p{100 * q:g}, {times} the others"
        )

    return [
        *(
            f"client slow: {text(nth, q)}, so it, its network or its server thread is slow; "
            "measure without it"
            for nth, q in named(by_quantile).items()
        ),
        *(
            f"clients unequal: {text(nth, q)}, as a few long stalls of it or of the server give; "
            "measure longer"
            for nth, q in unequal(by_quantile).items()
        ),
    ]
