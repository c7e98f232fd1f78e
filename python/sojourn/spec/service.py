"""A service of a study, `[[services]]`, and what is asked about it.

Every field's description is what `schema/study.json` and the reference say about the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, field_validator, model_validator

from sojourn.spec import keys, shape
from sojourn.spec.base import Model, Table, TableOfTables
from sojourn.spec.qos import Qos, QosRule


class MaxRps(StrEnum):
    """What 100 % of the load axis means (M19, D8); printed with every figure."""

    ACHIEVED_PEAK = "achieved_peak"  # L: throughput of a closed loop, as fast as it goes
    NO_DROP = "no_drop"  # C5: highest open-loop rate at which every request is answered
    QOS = "qos"  # P: the highest load within the QoS target
    ASKED = "asked"  # the highest of run.rates: nothing is measured for it


class Pin(StrEnum):
    """Whether workers of a service are pinned to the server's CPUs (L15, L23)."""

    TURN = "turn"  # one to a CPU, in turn where there are fewer CPUs
    ONE = "one"  # the same, and refused where there are fewer CPUs (C11)
    NONE = "none"  # the scheduler chooses among the server's CPUs


class Layout(NamedTuple):
    """Physical cores of a service and logical CPUs on them: n-m of C21."""

    cores: int
    cpus: int


_LAYOUT = re.compile(r"([1-9]\d{0,3})(?::([1-9]\d{0,3}))?")


_LABEL = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


class ServiceSpec(Model):
    """One service of the study, and what is asked about it."""

    kind: str
    """Kind of service, as `sojourn kinds` lists them."""
    label: str = ""
    """Its name in this study, lower case; by default the kind."""
    measure: tuple[str, ...] = ("sweep", "max_load")
    """What is asked; `sojourn kinds questions` lists the names."""
    max_rps: MaxRps = Field(default=MaxRps.ACHIEVED_PEAK, strict=False)
    """What 100 % of the load axis means: "achieved_peak", "no_drop" or "qos" (M19); "asked", the
    highest of run.rates, where a study gives those and asks for nothing that needs another."""
    qos: Qos | None = None
    """QoS target; needed for "max_load"."""
    params: Table = Field(default_factory=lambda: MappingProxyType({}))
    """Parameters of the kind; `sojourn kinds KIND` lists them."""
    load: TableOfTables = Field(default_factory=lambda: MappingProxyType({}))
    """Keys of the generator's job, such as connections = 64. A relative name of a file is one in
    the folder of the study's file."""
    shape: str = ""
    """How the load changes within a run, in shares of the point's load: "steps:0.5@5s,1.5@5s"
    (again and again), "sine:0.5,60s" (1 ± 0.5 of it). "": it does not change."""
    place: str = "local"
    """Where it runs, as `sojourn kinds places` lists them; the client is always outside."""
    axis: Literal["own", "local"] = "own"
    """Whose max RPS is 100 % where the place is varied: each place's own, or that of "local" in all
    of them, to compare places at equal offered load (C17)."""
    cores: str = ""
    """Physical cores that it has, one logical CPU of each, such as 4; with hyper-threads "4:7":
    seven logical CPUs of four cores (C21). "": a core for each worker, as far as there are."""
    pin: Pin = Field(default=Pin.TURN, strict=False)
    """Whether workers are pinned: "turn" (one to a CPU, in turn where there are fewer CPUs), "one"
    (the same, refused where there are fewer) or "none" (the scheduler chooses; L15)."""
    clients: Annotated[int, Field(ge=0, le=64)] = 1
    """Generator processes that share its load from one instant on: connections, threads and rate in
    equal parts, each with its own seed. Arrivals must be Poisson, because such streams add up.
    0: no requests are sent, which shows the cost of the instrument."""
    stretch: Annotated[float, Field(ge=1, le=1000)] = 1
    """How many times as long as in the profile everything of this service lasts: points, search and
    budget. For services whose requests take so long that few come in a point."""
    knobs: Table = Field(default_factory=lambda: MappingProxyType({}))
    """What is set on it while it runs, as `sojourn kinds knobs` lists them: cpuset = "0-1"."""

    @field_validator("measure", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("cores", mode="before")
    @classmethod
    def _count_as_text(cls, cores: object) -> object:
        return str(cores) if isinstance(cores, int) and cores is not True else cores

    @field_validator("shape")
    @classmethod
    def _a_shape(cls, text: str) -> str:
        return shape.accepted(text)

    @field_validator("cores")
    @classmethod
    def _a_layout(cls, text: str) -> str:
        match = _LAYOUT.fullmatch(text)
        if text and not match:
            raise ValueError(
                f"'{text}' is not a number of cores; write 4, or 4:7 for 7 CPUs of 4 cores"
            )
        if match and match[2] and int(match[2]) < int(match[1]):
            raise ValueError(f"{match[1]} cores have as many CPUs at least, not {match[2]}")
        return text

    @property
    def job(self) -> dict[str, Any]:
        """`load` as plain values: what the study gives of the generator's job."""
        return {
            key: list(v) if isinstance(v, tuple) else dict(v) if isinstance(v, Mapping) else v
            for key, v in self.load.items()
        }

    @property
    def layout(self) -> Layout | None:
        """Its cores and logical CPUs; None: by its workers."""
        cores, _, cpus = self.cores.partition(":")
        return Layout(int(cores), int(cpus or cores)) if cores else None

    @property
    def _is_of_one_thread(self) -> bool:
        """Whether one thread serves where its bound is measured, as far as the study says."""
        widths = (self.params.get(name) for name in ("threads", "workers"))
        under = self.qos.under if self.qos else {}
        is_reported = any(
            key.rpartition(".")[2] in {"cores", "threads", "workers"} and str(level) == "1"
            for key, level in under.items()
        )
        return is_reported or self.cores == "1" or 1 in widths

    @field_validator("label")
    @classmethod
    def _plain(cls, label: str) -> str:
        if label == keys.EACH:
            raise ValueError(f"'{label}' is every service in keys of factors; use another label")
        if label and not _LABEL.fullmatch(label):
            raise ValueError(f"'{label}' is not a label; use lower case letters, digits, - and _")
        return label

    @model_validator(mode="before")
    @classmethod
    def _label_defaults_to_kind(cls, data: object) -> object:
        if isinstance(data, dict) and data.get("label", "") == "":  # 0 is a wrong label
            return {**data, "label": data["kind"]} if isinstance(data.get("kind"), str) else data
        return data

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> ServiceSpec:
        if not self.measure:
            raise ValueError('measure is empty; ask for "sweep" or "max_load"')
        if self.qos and self.qos.rule is QosRule.SERVICE_TIME and not self._is_of_one_thread:
            raise ValueError(
                'rule = "service_time" is the time of one thread (P8); say under which levels it'
                ' has one, such as under = { "services.each.cores" = "1" }, or give cores = 1'
            )
        if self.qos is None and self.max_rps is MaxRps.QOS:
            raise ValueError("a QoS target is needed; add [services.qos] with q and bound")
        return self
