"""What a service used while a point was measured, sample by sample: `resources.json`."""

from __future__ import annotations

import base64
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from sojourn.host.usage.resource import BY_NAME, FORM, NAME
from sojourn.samples.contract import Table, table_of

_NAME, _, _MAJOR = FORM.partition("/")
MAJOR = int(_MAJOR)
CPU = "service_cpu_share"
TREND_MIN = 5  # samples, below which a slope is chance
SLACK = 0.1  # of a sample's length, by which it may reach beyond the measured part


class Probe(Table):
    """What the probe itself used; `is_apart`: on CPUs that are not a service's."""

    cpu_s: float
    wall_s: float
    cpus: tuple[int, ...] = ()
    is_apart: bool


class Thread(Table):
    """One thread: shares of one CPU, and s each second; null where it was not there."""

    pid: int
    tid: int
    name: str
    cpu_share: tuple[float | None, ...]
    runq_delay_share: tuple[float | None, ...]


class ResourceFile(Table):
    """One `resources.json`: columns have a value for each sample, in the order of time.

    Attributes:
        period_s: between two samples, as it was meant.
        server_cpus: of the service; cpus: how many the machine has.
        interfaces: whose bytes are counted; of a guest, its tap.
        storage_link: where the bytes of a guest's disk are counted; "": it has none.
        end_unix_ns, length_s: of each sample's time, ns since 1970 and s.
        is_late: the sample came late: its time is longer, its rates are over all of that.
        columns: by name of the resource; null: not told for that sample.
        units: of the columns.
        capacity: what the service can take here, as far as that is known, in the column's unit.
        not_counted: name → why there is no column.
        threads: those that ran most.
        events: what made values null or coarser → how often.
        measured_unix_ns: first and last moment of the measured part.
    """

    schema_version: str = Field(alias="schema")
    period_s: float
    server_cpus: tuple[int, ...] = ()
    cpus: int
    interfaces: tuple[str, ...] = ()
    storage_link: str = ""
    probe: Probe
    end_unix_ns: tuple[int, ...]
    length_s: tuple[float, ...]
    is_late: tuple[bool, ...]
    columns: dict[str, tuple[float | None, ...]]
    units: dict[str, str] = Field(default_factory=dict)
    capacity: dict[str, float] = Field(default_factory=dict)
    not_counted: dict[str, str] = Field(default_factory=dict)
    threads: tuple[Thread, ...] = ()
    events: dict[str, int] = Field(default_factory=dict)
    measured_unix_ns: tuple[int, int] | None = None

    @model_validator(mode="after")
    def _agrees(self) -> ResourceFile:
        every = (self.length_s, self.is_late, *self.columns.values())
        if any(len(column) != len(self.end_unix_ns) for column in every):
            raise ValueError("the columns are not of one length")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """The samples of the measured part of a point.

    Attributes:
        names: of the resources that were counted.
        values: shape (resources, samples), in their units; NaN: not told. Of single precision,
            which holds all digits that are written: a campaign keeps ten thousand of them.
        capacity: what the service can take here, where that is known.
        not_counted: why the others were not.
        late: samples that came late.
        events: what made values NaN or coarser → how often, in all of the run.
        probe_share: CPU time of the probe, of one CPU; nan: not known.
        is_apart: the probe ran on CPUs that are not a service's.
        cpu_trend_per_s: by how much its share of its CPUs grows each second, by least squares;
            None: not told.
    """

    names: tuple[str, ...]
    values: NDArray[np.float32]
    capacity: Mapping[str, float] = field(default_factory=dict)
    not_counted: Mapping[str, str] = field(default_factory=dict)
    late: int = 0
    events: Mapping[str, int] = field(default_factory=dict)
    probe_share: float = float("nan")
    is_apart: bool = True
    cpu_trend_per_s: float | None = None

    @property
    def samples(self) -> int:
        """How many samples lie in the measured part."""
        return int(self.values.shape[1])


def load(path: Path) -> ResourceFile:
    """Read and check a `resources.json`.

    Raises:
        StoreFault: it is missing, damaged, or of a newer version.
    """
    return table_of(ResourceFile, path, _NAME, MAJOR, what="use of resources")


def read(folder: Path) -> Resources | None:
    """What was used in the measured part of a point; None in a record from before it was stored.

    Raises:
        StoreFault: the file is damaged, or of a newer version.
    """
    path = folder / NAME
    return measured(load(path)) if path.exists() else None


def measured(table: ResourceFile) -> Resources:
    """The samples whose time lies in the measured part."""
    selected = [nth for nth in range(len(table.length_s)) if _is_within(table, nth)]
    names = _known(tuple(table.columns))
    rows = [_row(table.columns[name], selected) for name in names]
    wall_s = table.probe.wall_s
    return Resources(
        names=names,
        values=np.array(rows, np.float32).reshape(len(names), len(selected)),
        capacity=table.capacity,
        not_counted=table.not_counted,
        late=sum(table.is_late[nth] for nth in selected),
        events=table.events,
        probe_share=table.probe.cpu_s / wall_s if wall_s > 0 else float("nan"),
        is_apart=table.probe.is_apart,
        cpu_trend_per_s=_trend(table, selected),
    )


def _trend(table: ResourceFile, selected: Sequence[int]) -> float | None:
    """The slope of CPU time over the middles of the samples' times."""
    shares = table.columns.get(CPU, ())
    known = [
        (table.end_unix_ns[nth] / 1e9 - table.length_s[nth] / 2, share)
        for nth in selected
        if shares and (share := shares[nth]) is not None
    ]
    if len(known) < TREND_MIN:
        return None
    at_s, values = (np.array(column) for column in zip(*known, strict=True))
    off_s = at_s - at_s.mean()
    spread = float(off_s @ off_s)
    return float(off_s @ values) / spread if spread > 0 else None


def packed(own: Resources) -> dict[str, Any]:
    """The samples as JSON that is read quickly: `unpacked` has the same again."""
    return {
        "names": own.names,
        "values": base64.b64encode(own.values.astype("<f4").tobytes()).decode(),
        "capacity": dict(own.capacity),
        "not_counted": dict(own.not_counted),
        "late": own.late,
        "events": dict(own.events),
        "probe_share": own.probe_share,
        "is_apart": own.is_apart,
        "cpu_trend_per_s": own.cpu_trend_per_s,
    }


def unpacked(table: Mapping[str, Any]) -> Resources:
    """What `packed` wrote.

    Raises:
        KeyError, TypeError, ValueError: it is damaged.
    """
    names = _known(tuple(table["names"]))
    values = np.frombuffer(base64.b64decode(table["values"]), "<f4")
    samples = len(values) // len(names) if names else 0
    return Resources(
        names=names,
        values=values.reshape(len(names), samples),
        capacity=_shared(tuple(table["capacity"].items())),
        not_counted=_shared(tuple(table["not_counted"].items())),
        late=table["late"],
        events=_shared(tuple(table["events"].items())),
        probe_share=table["probe_share"],
        is_apart=table["is_apart"],
        cpu_trend_per_s=table["cpu_trend_per_s"],
    )


@functools.lru_cache(maxsize=64)
def _known(names: Sequence[str]) -> tuple[str, ...]:
    """Those of the table, in its order; one object for the points of a record."""
    return tuple(name for name in BY_NAME if name in names)


@functools.lru_cache(maxsize=64)
def _shared(items: tuple[tuple[str, Any], ...]) -> Mapping[str, Any]:
    """What is the same in most points of a record is kept once."""
    return dict(items)


def _row(column: Sequence[float | None], numbers: Sequence[int]) -> list[float]:
    results = (column[nth] for nth in numbers)
    return [float("nan") if value is None else value for value in results]


def _is_within(table: ResourceFile, nth: int) -> bool:
    """Whether a sample's time lies in the measured part, but for a little."""
    if table.measured_unix_ns is None:
        return False
    first, last = table.measured_unix_ns
    length_ns = table.length_s[nth] * 1e9
    end_ns = table.end_unix_ns[nth]
    return end_ns - length_ns >= first - SLACK * length_ns and end_ns <= last + SLACK * length_ns
