"""What the clients of a cluster found → one result, and whether they were one client.

Histograms, windows and counts add up bin for bin; no quantile is averaged. Times that are of a
host's own clock are put to the lab's first. `hosts.json` beside the result says where each client
ran, how well its clock is known, when it began and what it supplies of the slow requests. Its
`doubts` make the point `unknown`: clients that did not begin together, one that is too slow.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn import disk, units
from sojourn.actors import clients
from sojourn.actors.clients import Job, hdr, logs
from sojourn.errors import RunFault, StoreFault
from sojourn.hosts.clock import Reading, spread_ns
from sojourn.hosts.crew import Crew, Member
from sojourn.hosts.tail import FALSE_RATE, TIMES, Tail, named, tails
from sojourn.run.generator_job import Files
from sojourn.samples import HOSTS, intervals, load_result

SCHEMA = "sojourn.hosts/1"
SPREAD_NS_MAX = 1_000_000
Q = "p99"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one client brought home.

    Attributes:
        result: as it wrote it.
        start: of the warm-up, by the lab's clock.
    """

    member: Member
    job: Job
    files: Files
    result: Mapping[str, Any]
    start: Reading

    @property
    def corrected(self) -> dict[str, Any]:
        """Its result with its start by the clocks of the lab's host."""
        if self.member.is_here:
            return dict(self.result)
        warm_ns = units.parse_ns(str(self.result["job"]["warmup"]))
        unix_ns = self.start.at_ns + warm_ns + time.time_ns() - time.monotonic_ns()
        return {**self.result, "start_ns": self.start.at_ns, "started_unix_ns": unix_ns}


def read(member: Member, job: Job, files: Files) -> Part:
    """A client's result, which a stranger may have written.

    Raises:
        RunFault: it does not follow its contract.
    """
    try:
        load_result(files.result)
        result = disk.read_json(files.result)
    except StoreFault as fault:
        raise RunFault(fault.what, at=fault.at, fix="install the same sojourn there") from None
    return Part(
        member=member,
        job=job,
        files=files,
        result=result,
        start=member.here(int(result["start_ns"])),
    )


def joined(crew: Crew, parts: Sequence[Part], job: Job, files: Files) -> dict[str, Any]:
    """Write the result of all, and what it is made of; returns the result."""
    whole = clients.merged([part.corrected for part in parts], job)
    disk.keep_json(files.result, whole, indent=1)
    for key, merge in (("hlog", logs.merge_hlog), ("raw", logs.merge_raw)):
        if job.get(key):
            merge([Path(str(part.job[key])) for part in parts], Path(str(job[key])))
    table = _about(crew, parts, _tails(parts, whole))
    disk.keep_json(files.result.parent / HOSTS, table, indent=1)
    return whole


def _tails(parts: Sequence[Part], whole: Mapping[str, Any]) -> tuple[Tail, ...]:
    """What each supplies above the quantile of all together, slice by slice."""
    above_ns = whole["sojourn_ns"][Q]
    lines = [
        [one for one in intervals(Path(str(part.job["hlog"]))) if not one.tag]
        if part.job.get("hlog")
        else []
        for part in parts
    ]
    slices = min(map(len, lines))
    if not slices:  # no log: the run as one slice, of which no one is named
        return tails(*_whole(parts, above_ns))
    requests = [[one.sojourn.total for one in line[:slices]] for line in lines]
    bound = float("inf") if above_ns is None else above_ns
    beyond = [[one.sojourn.over(bound) for one in line[:slices]] for line in lines]
    return tails(np.array(requests, np.int64), np.array(beyond, np.int64))


def _whole(
    parts: Sequence[Part], above_ns: float | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    spans = [part.result["sojourn_ns"] for part in parts]
    totals = [hdr.added([str(span["hdr"])]) for span in spans]
    over = [hdr.above(total, above_ns) if above_ns is not None else 0 for total in totals]
    beyond = [[int(span["lost"]) + n] for span, n in zip(spans, over, strict=True)]
    return np.array([[int(span["count"])] for span in spans]), np.array(beyond)


def _about(crew: Crew, parts: Sequence[Part], every: Sequence[Tail]) -> dict[str, Any]:
    """`hosts.json`."""
    spread = spread_ns([part.start for part in parts])
    return {
        "schema": SCHEMA,
        "engine": crew.engine.about,
        "clients": [_client(part, one) for part, one in zip(parts, every, strict=True)],
        "starts": {"within_ns": round(spread), "within_ns_max": SPREAD_NS_MAX},
        "tail": {"quantile": Q, "times": TIMES, "false_rate": FALSE_RATE, "named": named(every)},
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
        "verdict": result["verdict"],
        "p50_ns": result["sojourn_ns"]["p50"],
        "p99_ns": result["sojourn_ns"]["p99"],
        "tail": {
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


def _slow(crew: Crew, parts: Sequence[Part], every: Sequence[Tail]) -> list[str]:
    result = []
    for nth in named(every):
        tail, member = every[nth], parts[nth].member
        share = tail.beyond / sum(one.beyond for one in every)
        times = f"{tail.factor:.1f} times as often as" if _finite(tail.factor) else "and none of"
        result.append(
            f"client slow: client {nth + 1} of {len(crew)}, on {member.node.text}, has {share:.0%} "
            f"of the requests above p99, {times} the others; measure without it"
        )
    return result
