"""How many clients the loads of a study need, by its newest record."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sojourn.plan import Outcome
    from sojourn.spec import Study

LEAST, MOST = 1e-6, 1e18  # requests/s, or ns of a request: nothing else is a number of a run


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
    """The highest rate that a study offers a service; None: it is a share of what is not known."""
    if study.run.rates_rps:
        return study.run.rates_rps[-1]
    peaks = [one.achieved_rps for one in outcomes if one.point.offered_rps is None]
    return max(peaks) * max(study.run.fractions, default=1.0) if peaks else None


def _need(rate_rps: float, folders: Iterable[Path]) -> str:
    from sojourn.hosts import need
    from sojourn.units import show_count, show_ns

    parts = [part for folder in folders for part in _parts(folder)]
    rate = f"{show_count(rate_rps)} requests/s need"
    costs = [part["asleep_ns"] for part in parts if _is_some(part["asleep_ns"])]
    if costs and _is_some(each_rps := need.rate_max(max(costs))):
        count = need.clients(rate_rps, each_rps)
        why = f"a request took {show_ns(max(costs), 1)} of its CPU at most"
        return (
            f"{rate} {count} clients: one thread carries {show_count(each_rps, -1)}, because {why}"
        )
    carried = [float(part["offered_rps"]) for part in parts if _is_some(part["offered_rps"])]
    if carried:
        count = need.clients(rate_rps, max(carried))
        return f"{rate} {count} clients at most: one carried {show_count(max(carried))} on time"
    return f"{rate} no known number of clients: no run of this study has shown what one carries"


def _is_some(value: float) -> bool:
    """Whether it is a rate or a time of which another can be computed: a record may hold any."""
    return LEAST <= value <= MOST


def _parts(folder: Path) -> Iterator[dict[str, float]]:
    """Results of each client of a point, by itself, that it does not doubt.

    Each has `offered_rps`, and `asleep_ns`: CPU time of a request of one that slept, or else 0.
    """
    from sojourn.plan import Verdict

    for table in _tables(folder):
        try:
            is_sound = table["verdict"] != Verdict.UNKNOWN
            cost = table["cost"]
            slept = str(cost["wait"]).startswith("sleep")
            asleep_ns = float(cost["cpu_ns_per_request"]) if slept else 0.0
            numbers = {"offered_rps": float(table["offered_rps"]), "asleep_ns": asleep_ns}
        except (ValueError, KeyError, TypeError):
            continue
        if is_sound:
            yield numbers


def _tables(folder: Path) -> Iterator[dict[str, Any]]:
    """What each client wrote; of many clients, what `hosts.json` has of each."""
    from sojourn import disk
    from sojourn.samples import HOSTS

    every = [p for p in sorted(folder.glob("load.[0-9]*.json")) if not p.name.endswith(".job.json")]
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        if not every and (folder / HOSTS).exists():
            yield from map(dict, disk.read_json(folder / HOSTS)["clients"])
            return
    for path in every or [folder / "load.json"]:
        with contextlib.suppress(OSError, ValueError):
            yield dict(disk.read_json(path))
