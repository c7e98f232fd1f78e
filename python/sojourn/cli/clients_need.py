"""How many clients the loads of a study need, by its newest record."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sojourn.plan import Outcome
    from sojourn.spec import Study

LEAST, MOST = 1e-6, 1e18  # requests/s, or ns of a request: nothing else is a number of a run
NEAR = (
    0.9  # of a client's highest rate: there its time for a request counts, because waking is dear
)
UNLIKE, HOSTS_MAX = 1.25, 8  # hosts that differ by more are listed, and so many of them
SLEEP = "sleep"  # as the wait of a client begins that sleeps between requests


class _Part(NamedTuple):
    """What one client of a point did.

    Attributes:
        host: its name; "": the record does not have it.
        offered_rps: rate that it carried on time.
        asleep_ns: CPU time of a request, if it slept between them; 0: it did not.
        threads: of it.
        timely_ns: how late a request may be because of other requests.
    """

    host: str
    offered_rps: float
    asleep_ns: float
    threads: int
    timely_ns: float


def needs(study: Study, results: Path) -> Iterator[str]:
    """A line for each service; nothing without `[hosts]`.

    Raises:
        StoreFault: the record is damaged, or a point of it names a folder elsewhere.
    """
    if study.hosts is None:
        return
    from sojourn import store

    record = store.last(results, study.name)
    outcomes = tuple(record.outcomes()) if record else ()
    for service in study.services:
        own = [outcome for outcome in outcomes if outcome.point.service == service.label]
        rate_rps = _highest(study, own)
        if rate_rps is None or not _is_some(rate_rps):
            yield f"{service.label}: how many clients are needed is known once max RPS is"
            continue
        folders = [record.folder_of(one) for one in own if record and one.is_believed]
        yield f"{service.label}: {_need(rate_rps, folders)}"


def machine_hours(study: Study, wall_s: float) -> float | None:
    """What a study costs in hours of machines; None: the cluster knows how many there are."""
    machines = _machines(study)
    return None if machines is None else machines * wall_s / 3600


def cost(study: Study, wall_s: float) -> str:
    """The same for people; "": one machine, of which the plan has the time."""
    if study.hosts is None or study.hosts.local:
        return ""
    hours = machine_hours(study, wall_s)
    if hours is None:
        return f"{wall_s / 3600:.2g} hours of this machine, and of each that is a client"
    machines = _machines(study)
    return f"{hours:.2g} machine-hours: {machines} machines, {wall_s / 3600:.2g} hours each"


def _machines(study: Study) -> int | None:
    """How many machines take part, with every server that a factor names."""
    from sojourn.plan import design

    return study.hosts.machines(design.servers(study)) if study.hosts else 1


def _highest(study: Study, outcomes: Iterable[Outcome]) -> float | None:
    """The highest rate that a study offers a service; None: it is a share of what is not known.

    A peak that is not valid may be that of its client, and a service carries more.
    """
    if study.run.rates_rps:
        return study.run.rates_rps[-1]
    peaks = [
        one.achieved_rps for one in outcomes if one.point.offered_rps is None and one.is_believed
    ]
    return max(peaks) * max(study.run.fractions, default=1.0) if peaks else None


def _need(rate_rps: float, folders: Iterable[Path]) -> str:
    from sojourn.hosts import need
    from sojourn.units import show_count, show_ns

    parts = [part for folder in folders for part in _parts(folder)]
    rate = f"{show_count(rate_rps)} requests/s need"
    costs = {host: _cost(own) for host, own in _by_host(parts, "asleep_ns").items()}
    carry = {host: _each_rps(one) for host, one in costs.items()}
    if carry and _is_some(each_rps := min(carry.values())):
        slowest = costs[min(carry, key=lambda host: carry[host])]
        count = need.clients(rate_rps, each_rps)
        threads = f" with {slowest.threads} threads" if slowest.threads > 1 else ""
        why = f"a request took {show_ns(slowest.asleep_ns, 1)} of its CPU"
        one = f"one{threads} carries {show_count(each_rps, -1)}, because {why}"
        return f"{rate} {count} clients: {one}{_unlike(carry)}"
    carried = [
        max(one.offered_rps for one in own) for own in _by_host(parts, "offered_rps").values()
    ]
    if carried:
        count = need.clients(rate_rps, min(carried))
        return f"{rate} {count} clients at most: one carried {show_count(min(carried))} on time"
    return f"{rate} no known number of clients: no run of this study has shown what one carries"


def _by_host(parts: Iterable[_Part], key: str) -> dict[str, list[_Part]]:
    """Clients that have a number, by their host: shares are equal, so the slowest decides."""
    result: dict[str, list[_Part]] = {}
    for part in parts:
        if _is_some(getattr(part, key)) and _is_some(part.offered_rps):
            result.setdefault(part.host, []).append(part)
    return result


def _cost(own: Iterable[_Part]) -> _Part:
    """The dearest client of a host near its highest rate: at a low one each request wakes it."""
    every = list(own)
    most = max(part.offered_rps for part in every)
    near = [part for part in every if part.offered_rps >= NEAR * most]
    return max(near, key=lambda part: part.asleep_ns / part.threads)


def _each_rps(part: _Part) -> float:
    from sojourn.hosts import need

    return part.threads * need.rate_max(part.asleep_ns, part.timely_ns)


def _unlike(carry: Mapping[str, float]) -> str:
    """What one client of each host carries, where they differ, the slowest first."""
    from sojourn.units import show_count
    from sojourn.visible import in_line

    if max(carry.values()) <= UNLIKE * min(carry.values()):
        return ""
    ordered = sorted(carry, key=lambda host: carry[host])
    rows = [f"{in_line(host)} {show_count(carry[host], -1)}" for host in ordered[:HOSTS_MAX]]
    more = f" and {len(ordered) - HOSTS_MAX} more" if len(ordered) > HOSTS_MAX else ""
    return f"; hosts are unlike, and each has an equal share: {', '.join(rows)}{more}"


def _is_some(value: float) -> bool:
    """Whether it is a rate or a time of which another can be computed: a record may hold any."""
    return LEAST <= value <= MOST


def _parts(folder: Path) -> Iterator[_Part]:
    """Results of each client of a point, by itself, that it does not doubt."""
    from sojourn.plan import Verdict

    for table in _tables(folder):
        try:
            part = _part(table)
            is_sound = table["verdict"] != Verdict.UNKNOWN
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            continue
        if is_sound:
            yield part


def _part(table: Mapping[str, Any]) -> _Part:
    from sojourn import units
    from sojourn.hosts import need

    cost, job = table["cost"], table.get("job", table)
    wait, timely = str(cost["wait"]), str(job.get("timely_within") or "")
    timely_ns = units.parse_ns(timely) if timely else need.TIMELY_NS
    pause = wait.partition(":")[2]  # a client that sleeps for longer may be so much later (M3)
    return _Part(
        host=str(table.get("host") or table.get("address") or ""),
        offered_rps=float(table["offered_rps"]),
        asleep_ns=float(cost["cpu_ns_per_request"]) if wait.startswith(SLEEP) else 0.0,
        threads=max(1, int(job.get("threads", 1))),
        timely_ns=max(1.0, timely_ns - (units.parse_ns(pause) if pause else 0)),
    )


def _tables(folder: Path) -> Iterator[Mapping[str, Any]]:
    """What each client wrote; of those of a cluster, what `hosts.json` has of each."""
    from sojourn import disk
    from sojourn.samples import HOSTS

    if (folder / HOSTS).exists():  # without it the load of all would look like that of one
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            yield from map(dict, disk.read_json(folder / HOSTS)["clients"])
        return
    every = [p for p in sorted(folder.glob("load.[0-9]*.json")) if not p.name.endswith(".job.json")]
    for path in every or [folder / "load.json"]:
        with contextlib.suppress(OSError, ValueError):
            yield dict(disk.read_json(path))
