"""A service in a record: tail by load, alone, beside doses and neighbours."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from sojourn import store
from sojourn.errors import Fault, SpecFault
from sojourn.foresight.doses import NONE, Dose, dose_of, meaning
from sojourn.plan.points import Outcome, Phase, Verdict
from sojourn.plan.setting import LOAD, NEIGHBOUR, RATE, TWIN
from sojourn.record import machine
from sojourn.samples import read_json
from sojourn.samples.names import HOST
from sojourn.store import listing
from sojourn.store.named import by_start
from sojourn.store.record import Record
from sojourn.units import NS_PER_S

QUANTILES = {0.5: "p50_ns", 0.95: "p95_ns", 0.99: "p99_ns"}
FORM = ("kind", "params", "load", "shape", "place", "cores", "pin", "clients", "knobs")
SAME = ("shield",)  # circumstances that must agree, beside the machine
LOST = 0.01  # of the requests: more of them lost, and the tail has no end
NOT_HELD = "did not hold its intensity"
LOADS_MIN = 3  # alone, for a curve
COVERED = 0.9  # of the highest load alone: up to there a level needs runs
STRANGE = 0.1  # CPUs' worth on the server's CPUs that neither service nor neighbour used


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One load beside one neighbour.

    Attributes:
        rps, achieved_rps: offered, and completed.
        tails: ns by quantile; infinite where requests were lost.
        progress: the neighbour's pace as a share of its pace alone; None: not known.
        cpu_ns: CPU time of the service for each request.
        cpu: CPUs' worth that the service used while load ran.
        others: share of the server's CPUs that the neighbour used, 0 to 1.
    """

    rps: float
    achieved_rps: float
    tails: Mapping[float, float]
    progress: float | None = None
    cpu_ns: float | None = None
    cpu: float | None = None
    others: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Victim:
    """One service of one record. Two are the same only if they are one object.

    Attributes:
        label: of the service.
        record: folder of the record.
        spec: how it was run and loaded, as the study says: kind, parameters, cores, connections.
        place: facts that make the machine and the circumstances, by name.
        peak_rps: closed-loop peak alone.
        levels: runs by level of `neighbour`, in order of load.
        left_out: runs that failed their checks, by level.
    """

    label: str
    record: str
    place: Mapping[str, str]
    peak_rps: float
    levels: Mapping[str, Sequence[Run]]
    left_out: Mapping[str, int] = field(default_factory=dict)
    spec: str = ""

    @property
    def doses(self) -> Mapping[Dose, Sequence[Run]]:
        """Its runs beside doses, in order of resource and share."""
        gathered: dict[Dose, list[Run]] = {}
        for level, runs in self.levels.items():
            if (dose := dose_of(level)) is not None:
                gathered.setdefault(dose, []).extend(runs)
        return {dose: sorted(gathered[dose], key=_rps) for dose in sorted(gathered)}

    @property
    def neighbours(self) -> tuple[str, ...]:
        """Levels that are neither `none` nor a dose."""
        return tuple(one for one in self.levels if one != NONE and dose_of(one) is None)

    def level_like(self, neighbour: str) -> str:
        """Its level that means the same as `neighbour`; "" if it has none."""
        asked = meaning(neighbour)
        return next((one for one in self.neighbours if meaning(one) == asked), "")


def read(record: Record) -> list[Victim]:
    """Services of a record that ran alone and beside neighbours; [] if none."""
    facts = machine.facts(record)
    place = {name: facts[name] for name in (*machine.MACHINE, *SAME) if name in facts}
    place["groups"] = str(getattr(record.study, "groups", ""))
    sweeps: dict[str, dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    peaks: dict[str, list[float]] = defaultdict(list)
    for one in record.outcomes():
        level = str(one.point.setting.get(NEIGHBOUR, NONE))
        if set(one.point.setting) - {NEIGHBOUR, LOAD, RATE, TWIN}:
            continue  # another factor varies too
        if one.point.phase == Phase.SWEEP:
            sweeps[one.point.service][level].append(one)
        elif one.point.phase == Phase.PEAK and level == NONE and one.is_believed:
            peaks[one.point.service].append(one.achieved_rps)
    gathered = []
    for label, levels in sweeps.items():
        runs = {level: _runs(record, every) for level, every in levels.items()}
        alone = runs.get(NONE, [])
        known = {level: one for level, one in runs.items() if _covers(one, alone)}
        if label in peaks and len(alone) >= LOADS_MIN and len(known) > 1:
            left = {level: len(every) - len(runs[level]) for level, every in levels.items()}
            gathered.append(
                Victim(
                    label=label,
                    record=str(record.path),
                    place=place,
                    peak_rps=median(peaks[label]),
                    levels=known,
                    spec=_spec(record, label),
                    left_out={level: count for level, count in left.items() if count},
                )
            )
    return gathered


def all_of(results: Path) -> list[Victim]:
    """Those of all records of a folder, newest first; unreadable ones are left out.

    Records of one service in one place are one if they ran and loaded it alike: more runs say more.

    Raises:
        SpecFault: there is no such folder.
    """
    if not results.is_dir():
        raise SpecFault(
            "there is no such results folder", at=str(results), fix="give --results DIR"
        )
    paths = sorted(listing.own(results), key=by_start, reverse=True)
    gathered: list[Victim] = []
    for path in paths:
        try:
            gathered += read(store.read(path))
        except Fault:
            continue
    return together(gathered)


def together(every: Sequence[Victim]) -> list[Victim]:
    """Victims of one label, form and place as one, under the name of the first record."""
    groups: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[Victim]] = {}
    for one in every:
        key = (one.label, one.spec, tuple(sorted(one.place.items())))
        groups.setdefault(key, []).append(one)
    return [group[0] if len(group) == 1 else _merged(group) for group in groups.values()]


def _merged(group: Sequence[Victim]) -> Victim:
    levels = dict.fromkeys(level for one in group for level in one.levels)
    runs = {level: [run for one in group for run in one.levels.get(level, ())] for level in levels}
    left = dict.fromkeys(level for one in group for level in one.left_out)
    return replace(
        group[0],
        peak_rps=median(one.peak_rps for one in group),
        levels={level: sorted(each, key=_rps) for level, each in runs.items()},
        left_out={level: sum(one.left_out.get(level, 0) for one in group) for level in left},
    )


def _covers(runs: Sequence[Run], alone: Sequence[Run]) -> bool:
    """Whether runs reach as far as those alone, or until the queue grew.

    Else a border beyond the last of them is on the line to the peak alone, where nothing was seen.
    """
    if not runs:
        return False
    has_grown = any(math.isinf(ns) for run in runs for ns in run.tails.values())
    most_rps = max((run.rps for run in alone), default=0.0)
    return has_grown or runs[-1].rps >= COVERED * most_rps


def _spec(record: Record, label: str) -> str:
    """How a record's study runs and loads a service; "" where it has none of that label."""
    for one in record.study.services:
        if one.label == label:
            return one.model_dump_json(include=set(FORM))
    return ""


def _rps(run: Run) -> float:
    return run.rps


def _runs(record: Record, every: Sequence[Outcome]) -> list[Run]:
    known = [run for run in (_run(record, one) for one in every) if run is not None]
    return sorted(known, key=_rps)


def _run(record: Record, one: Outcome) -> Run | None:
    """What a run says; None beside strangers, or where a self-check failed."""
    if one.verdict is Verdict.UNKNOWN and not _is_grown(one) and not _is_slow_neighbour(one):
        return None
    used = _host(record.folder_of(one) / HOST)
    taken = used.get("neighbours_on_server_share", 0.0)
    if used.get("others_on_server_share", 0.0) - taken > STRANGE:
        return None
    tails = {}
    for q, name in QUANTILES.items():
        value = getattr(one, name)
        tails[q] = math.inf if value is None else float(value)
    return Run(
        rps=one.offered_rps,
        achieved_rps=one.achieved_rps,
        tails=tails,
        progress=one.neighbour_of_alone,
        cpu_ns=one.cpu_ns,
        cpu=None if one.cpu_ns is None else one.cpu_ns * one.achieved_rps / NS_PER_S,
        others=used.get("neighbours_on_server_share"),
    )


def _is_grown(one: Outcome) -> bool:
    """Whether requests were lost by waiting; if they failed in another way, that is no queue."""
    bound = LOST * one.requests
    return one.lost - one.failed > bound >= one.failed


def _is_slow_neighbour(one: Outcome) -> bool:
    """Whether all that is wrong is a neighbour, no dose, that did too little."""
    is_dose = dose_of(str(one.point.setting.get(NEIGHBOUR, NONE))) is not None
    is_alone = bool(one.reasons) and all(NOT_HELD in reason for reason in one.reasons)
    return not is_dose and is_alone


def _host(path: Path) -> Mapping[str, float]:
    if not path.is_file():
        return {}
    table = read_json(path)
    return {name: float(value) for name, value in table.items() if isinstance(value, int | float)}
