"""The measured loads of a record, by service and setting.

Every point says in its `point.json` which service it loads, and under which levels of the factors.
Loads of a sweep that differ in nothing but the load itself belong together, with the closed-loop
peaks that have the same levels. What the lab does not believe is no peak, unless there is no other.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from sojourn import disk
from sojourn.errors import SpecFault, StoreFault
from sojourn.models.points import Measured, of_result, together, why
from sojourn.plan import codec
from sojourn.plan.points import Outcome, Phase, Point
from sojourn.plan.setting import LOAD, RATE, TWIN, Setting, level_text
from sojourn.samples import read_json
from sojourn.samples.names import SERVICE
from sojourn.spec.levels import names
from sojourn.store import columns
from sojourn.store.files import DAMAGE
from sojourn.store.named import OUTCOME, POINTS

OF_LOAD = frozenset({LOAD, RATE, TWIN})  # what differs within one sweep
_FIX = "give the folder of a record that `sojourn show` can read"
Key = tuple[str, str]  # service, setting as people write it
T = TypeVar("T")
Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """One service under one setting.

    Attributes:
        service: its label.
        setting: levels of the factors as people write them; "" where nothing is varied.
        points: in order of load.
        peak_rps: median closed-loop peak, requests/s; None if it was not measured.
        workers: how many of its workers can serve at once, as CPUs allow; None: not known.
    """

    service: str
    setting: str
    points: Sequence[Measured]
    peak_rps: float | None
    workers: int | None = None


def is_record(path: Path) -> bool:
    """Whether a path is the folder of a record."""
    return (path / POINTS).is_dir()


def read(path: Path, *, quiet: float = 1.0) -> tuple[Loads, ...]:
    """The loads of each service and setting of a record that has a sweep.

    Args:
        path: of the record.
        quiet: share of the runs of each load that counts, those with the least CPU time.

    Raises:
        SpecFault: a file of a point cannot be read, or there is no sweep.
    """
    try:
        every = list(_points(path))
        called = names(sorted({key for point, _ in every for key in _levels(point)}))
        sweeps = _grouped(every, called, Phase.SWEEP, _measured)
        peaks = _grouped(every, called, Phase.PEAK, _peak)
        workers = _grouped(every, called, Phase.SWEEP, lambda _, folder: _workers(folder))
    except (*DAMAGE, OSError, StoreFault) as error:
        raise SpecFault(f"cannot read points: {why(error)}", at=str(path), fix=_FIX) from None
    if not sweeps:
        raise SpecFault("there are no points", at=str(path), fix="measure one with a sweep")
    return tuple(
        Loads(
            service=service,
            setting=setting,
            points=together(points, quiet=quiet),
            peak_rps=_median(peaks.get((service, setting), [])),
            workers=_only(workers[service, setting]),
        )
        for (service, setting), points in sweeps.items()
    )


def chosen(every: Sequence[Loads], at: str, *, service: str = "", setting: str = "") -> Loads:
    """The one that is asked for, or the only one.

    Raises:
        SpecFault: several remain, or none; it names all that there are.
    """
    selected = [one for one in every if not service or one.service == service]
    selected = [one for one in selected if not setting or one.setting == setting]
    if len(selected) == 1:
        return selected[0]
    known = "\n    ".join(_options(one) for one in selected or every)
    what = (
        f"the record has {len(selected)} sweeps, and a fit describes one service and setting"
        if selected
        else "the record has no sweep of that service and setting"
    )
    raise SpecFault(what, at=at, fix=f"choose one with\n    {known}")


def _options(one: Loads) -> str:
    setting = f" --setting {shlex.quote(one.setting)}" if one.setting else ""
    return f"--service {one.service}{setting}"


def _points(path: Path) -> Iterator[tuple[Point, Path]]:
    """Points that were measured to the end, with their folders, in order.

    Folders that are copies of points have their keys, and are left out.
    """
    keys: set[str] = set()
    for outcome in sorted((path / POINTS).glob(f"*/{OUTCOME}")):
        point = codec.from_json(read_json(outcome.with_name("point.json")))
        if point.key not in keys:
            yield point, outcome.parent
        keys.add(point.key)


def _levels(point: Point) -> Setting:
    return Setting.of({k: v for k, v in point.setting.items() if k not in OF_LOAD})


def _grouped(
    every: Sequence[tuple[Point, Path]],
    called: Mapping[str, str],
    phase: Phase,
    read_as: Callable[[Result, Path], T],
) -> dict[Key, list[T]]:
    results: dict[Key, list[T]] = defaultdict(list)
    for point, folder in every:
        if point.phase == phase:
            levels = _levels(point)
            text = ", ".join(f"{called[key]} = {level_text(levels[key])}" for key in levels)
            result = disk.read_json(folder / "load.json")
            results[point.service, text].append(read_as(result, folder))
    return dict(results)


def _measured(result: Result, folder: Path) -> Measured:
    """With the service's own CPU time if it was counted: others may have filled its CPUs."""
    one, known, workers = of_result(result), _outcome(folder), _workers(folder)
    is_believed = one.is_believed and (known is None or known.is_believed)
    share = one.cpu_share
    if known is not None and known.cpu_ns is not None and workers is not None:
        share = known.cpu_ns * float(result["achieved_rps"]) / 1e9 / workers
    return replace(one, is_believed=is_believed, cpu_share=share)


def _peak(result: Result, folder: Path) -> tuple[bool, float]:
    known = _outcome(folder)
    is_believed = result.get("verdict") != "unknown" and (known is None or known.is_believed)
    return is_believed, float(result["achieved_rps"])


def _median(peaks: Sequence[tuple[bool, float]]) -> float | None:
    """Of those that are believed; of all if none is."""
    chosen = [rps for is_believed, rps in peaks if is_believed] or [rps for _, rps in peaks]
    return median(chosen) if chosen else None


def _outcome(folder: Path) -> Outcome | None:
    """What the lab says of a point; one that cannot be read says nothing against it."""
    try:
        return columns.read(folder / OUTCOME)
    except (*DAMAGE, OSError, StoreFault):
        return None


def _workers(folder: Path) -> int | None:
    """Workers of the service, no more than its CPUs; None if the point does not say it."""
    path = folder / SERVICE
    facts = disk.read_json(path) if path.is_file() else {}
    count = facts.get("workers")
    cpus = (facts.get("placement") or {}).get("server")
    if not isinstance(count, int) or count < 1:
        return None
    return min(count, len(cpus)) if cpus else count


def _only(counts: Sequence[int | None]) -> int | None:
    """The number that all points have."""
    return counts[0] if len(set(counts)) == 1 else None
