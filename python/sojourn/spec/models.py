"""A study as it is written in a TOML file: frozen, checked, resolved to its profile.

The file is the question; nothing here knows the machine. Names are those of the file, units last.
Every field's description is what `schema/study.json` and the reference say about the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, PrivateAttr, field_validator, model_validator

from sojourn import units
from sojourn.spec import keys, rates
from sojourn.spec.base import Model, Table, TableOfTables
from sojourn.spec.design import Combination, Design, Factors
from sojourn.spec.levels import level_text

SCHEMA: Literal["sojourn.study/1"] = "sojourn.study/1"

Ratio = Annotated[float, Field(gt=0, lt=1)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=1_000)]


class MaxRps(StrEnum):
    """What 100 % of the load axis means (M19, D8); printed with every figure."""

    ACHIEVED_PEAK = "achieved_peak"  # L: throughput of a closed loop, as fast as it goes
    NO_DROP = "no_drop"  # C5: highest open-loop rate at which every request is answered
    QOS = "qos"  # P: the highest load within the QoS target
    ASKED = "asked"  # the highest of run.rates: nothing is measured for it


class QosRule(StrEnum):
    """Where the bound of a QoS target comes from."""

    GIVEN = "given"  # `bound`
    LQOS = "lqos"  # P8, from outside: factor x mean sojourn time at a low load
    SERVICE_TIME = "service_time"  # P8: factor x mean service time of one thread at a low load
    LOW_LOAD = "low_load"  # L19: factor x the same quantile at a low load


LOW_LOAD_QUANTILES = (0.5, 0.95, 0.99)


class Qos(Model):
    """The QoS target: quantile and bound on the sojourn time."""

    q: Ratio
    """Quantile in (0, 1); 0.99 is p99."""
    bound: str = ""
    """Longest sojourn time at that quantile, such as "1ms"; only with rule "given"."""
    rule: QosRule = Field(default=QosRule.GIVEN, strict=False)
    """Where the bound comes from: "given", or what is measured at a low load: "service_time", the
    mean service time of one thread (P8), "lqos", the mean sojourn time, or "low_load", the same
    quantile (L19)."""
    factor: Annotated[float, Field(gt=1, le=1000)] = 5.0
    """Of a bound that is measured: multiple of the time at the low load."""
    at_fraction: Ratio = 0.2
    """Of a bound that is measured: the low load as a share of the closed-loop peak."""
    under: Table = Field(default_factory=lambda: MappingProxyType({}))
    """Of a bound that is measured: levels of factors under which it is; it holds under all others
    too. P8 measures on one thread: under = { "services.each.cores" = "1" }."""

    @field_validator("bound")
    @classmethod
    def _a_time(cls, bound: str) -> str:
        if bound and units.parse_ns(bound) == 0:
            raise ValueError("a bound of 0 can never be met; give a time such as 1ms")
        return bound

    @model_validator(mode="after")
    def _bound_fits_rule(self) -> Qos:
        if self.rule is QosRule.GIVEN:
            if not self.bound:
                raise ValueError('bound is missing; add bound = "1ms", or rule = "lqos"')
            if self.under:
                raise ValueError('under is of a bound that is measured; add rule = "service_time"')
        elif self.bound:
            raise ValueError(f'bound is measured under rule = "{self.rule}"; leave bound out')
        elif self.rule is QosRule.LOW_LOAD and self.q not in LOW_LOAD_QUANTILES:
            known = ", ".join(map(str, LOW_LOAD_QUANTILES))
            raise ValueError(f'rule = "low_load" knows no quantile {self.q}; use one of {known}')
        return self

    @property
    def bound_ns(self) -> int | None:
        """The bound, ns; None until it is measured."""
        return units.parse_ns(self.bound) if self.bound else None


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
        if isinstance(data, dict) and not data.get("label") and isinstance(data.get("kind"), str):
            return {**data, "label": data["kind"]}
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


class SearchSpec(Model):
    """How the highest load within the QoS target is looked for (M18, M28)."""

    probe_s: Seconds
    """Length of a probe, s; each is made from a fresh start of the service."""
    resolution: Annotated[float, Field(ge=0.005, le=0.5)]
    """The search ends when its interval is ± this share of the load."""
    budget_s: Seconds
    """Time for the probes together, restarts included, s; then the interval is what it is."""
    confirm_s: Seconds
    """Length of the last runs, at the lower end of the interval, s."""
    confirm_repeats: Count
    """How many; where the service is shielded each takes its turn with one that is not."""


_LASTING = ("measure_s", "warmup_s", "peak_s", "budget_s")
_LASTING_OF_SEARCH = ("probe_s", "budget_s", "confirm_s")


class RunSpec(Model):
    """How long and how often: the profile's values, each of which a study may set."""

    profile: Literal["quick", "standard", "full"]
    """Profile the other values come from."""
    measure_s: Seconds
    """Measured part of a point of the sweep, s."""
    warmup_s: Seconds
    """Load before it, sent and not measured, s."""
    repeats: Count
    """Rounds of the sweep, each from a fresh start of the service, in random order (M15, M16)."""
    fractions: tuple[Annotated[float, Field(gt=0, le=2)], ...]
    """Loads of the sweep as shares of max RPS; empty where rates are given."""
    rates: tuple[str, ...] = ()
    """Loads of the sweep in requests/s, such as ["20k", "40k"], in place of fractions."""
    peak_s: Seconds
    """Length of a closed-loop run for the load axis, s."""
    peak_repeats: Count
    """How many, each from a fresh start of the service; the median counts."""
    check_s: Seconds
    """Measured part of a check, s."""
    check_repeats: Count
    """Repeats of each check."""
    retries: Annotated[int, Field(ge=0, le=10)]
    """How often a point whose self-check failed is measured again."""
    budget_s: Seconds
    """Time for one service after which nothing is repeated or refined any more, s."""
    raw_max: Annotated[int, Field(ge=0, le=100_000_000)]
    """Most raw requests kept per point, for analyses of your own; 0: none. Nothing needs them."""
    search: SearchSpec
    """The search for the highest load."""
    shield: Literal["priority", "none", "move"] = "priority"
    """What keeps the server's CPUs for the server: its threads' real-time priority, nothing, or
    also moving other tasks and interrupts off them and back afterwards (M32)."""

    @field_validator("fractions", "rates", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("rates", mode="before")
    @classmethod
    def _as_texts(cls, inputs: object) -> object:
        return rates.as_texts(inputs)

    @field_validator("rates")
    @classmethod
    def _of_load(cls, inputs: tuple[str, ...]) -> tuple[str, ...]:
        return rates.ascending(inputs)

    def stretched(self, times: float) -> RunSpec:
        """The same with all that lasts lasting `times` as long; checks of the instrument do not."""
        longer = {name: times * getattr(self, name) for name in _LASTING}
        search = {name: times * getattr(self.search, name) for name in _LASTING_OF_SEARCH}
        longer["search"] = self.search.model_copy(update=search)
        return self.model_copy(update=longer)

    @property
    def rates_rps(self) -> tuple[float, ...]:
        """Rates of the sweep, requests/s, ascending; () where its loads are shares of max RPS."""
        return tuple(units.parse_count(text) for text in self.rates)

    @model_validator(mode="after")
    def _loads_in_one_way(self) -> RunSpec:
        rates.refuse_both(self.rates, self.fractions)
        return self

    @field_validator("fractions")
    @classmethod
    def _ascending(cls, fractions: tuple[float, ...]) -> tuple[float, ...]:
        if len(set(fractions)) < len(fractions):
            raise ValueError(
                "fractions holds a load twice; repeats says how often each is measured"
            )
        return tuple(sorted(fractions))


class Study(Model):
    """A question, the services it is asked of, and the care that is taken."""

    in_shares: ClassVar[frozenset[str]] = frozenset()  # questions with loads of run.fractions
    in_rates: ClassVar[frozenset[str]] = frozenset()  # those that need no max RPS with run.rates

    schema_version: Literal["sojourn.study/1"] = Field(default=SCHEMA, alias="schema")
    """Version of this form."""
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=64)
    """Name of the study: its results folder."""
    question: str = Field(min_length=1)
    """The question in a sentence; the report opens with it."""
    papers: tuple[Annotated[str, Field(pattern=r"^[LCP][1-9][0-9]?$")], ...] = ()
    """Items of the three papers that the study measures, such as "C12"; `sojourn replicate --list`
    shows them."""
    seed: Annotated[int, Field(ge=1, le=2**53)] = 1
    """Seed of every order and every draw."""
    aa: bool = True
    """Measure one load twice in every block of a sweep: how much the two differ is the noise floor
    of this campaign, below which no effect can be shown (M16)."""
    probe: str = "auto"
    """Rate of a probe client beside the load of a sweep, requests/s, taken from that load: one
    connection in a process of its own, held against the load's client. "auto": 100 where it has a
    CPU of its own, else none; "0": none (M5)."""
    trace: bool = False
    """Take requests apart by eBPF at every load, and measure what that costs; needs root."""
    neighbour: str = "none"
    """Who runs beside every measured point: "none", or KIND or KIND:WHERE, such as "spin:server";
    `sojourn kinds neighbours` lists them. The load axis is that of the service beside it, but where
    "none" is another level of a factor."""
    groups: Literal["own", "session", "shared", "nested"] = "own"
    """How the scheduler groups service, clients and neighbours: "own", a control group each, as
    production has it; "session", by session alone; "shared", one control group for all; "nested",
    service and clients in one, each neighbour in its own. Where the machine refuses "own" a run
    goes on by session, and says so."""
    manager: str = "none"
    """Who turns knobs while load runs: "none" or a KIND; `sojourn kinds managers` lists them."""
    run: RunSpec
    """How long and how often."""
    services: tuple[ServiceSpec, ...]
    """The services, in the order in which they are measured."""
    factors: Factors = Field(default_factory=lambda: MappingProxyType({}))
    """What is varied: keys of this file, services by label, each with a list of levels, such as
    "services.memcached.params.threads" = [1, 2]. The load is varied by run.fractions."""
    design: Design = Field(default_factory=Design)
    """Which combinations of the levels are measured: all, unless it says otherwise."""
    _left: frozenset[tuple[str, frozenset[tuple[str, str]]]] = PrivateAttr(default=frozenset())

    @field_validator("probe", mode="before")
    @classmethod
    def _as_text(cls, rate: object) -> object:
        return f"{rate:g}" if isinstance(rate, int | float) and rate is not True else rate

    @field_validator("probe")
    @classmethod
    def _a_probe_rate(cls, text: str) -> str:
        if text != "auto" and units.parse_count(text) < 0:
            raise ValueError(f"'{text}' is not a rate; give one of 0 or more, such as 100, or auto")
        return text

    @field_validator("services", "papers", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("services")
    @classmethod
    def _labels_differ(cls, services: tuple[ServiceSpec, ...]) -> tuple[ServiceSpec, ...]:
        if not services:
            raise ValueError("a study needs at least one [[services]] table")
        labels = [service.label for service in services]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice:
            raise ValueError(f"two services are called '{twice}'; give each a label of its own")
        return services

    @model_validator(mode="after")
    def _can_meet(self) -> Study:
        rates.refuse(self)
        return self

    def peaks(self, service: ServiceSpec) -> bool:
        """Whether max RPS of a service is measured: not where its loads are rates, and suffice."""
        return rates.peaks(self, service)

    def service(self, label: str) -> ServiceSpec:
        """The service of that label; KeyError if the study has none."""
        for service in self.services:
            if service.label == label:
                return service
        raise KeyError(label)

    def factors_of(self, *labels: str) -> tuple[str, ...]:
        """The factors that any of these services feels: all but those that are keys of others."""
        return tuple(key for key in self.factors if keys.service_of(key) in {None, *labels})

    def combinations(self, *labels: str) -> tuple[Combination, ...]:
        """The combinations of levels under which these services are measured at once, or one alone.

        `({},)` without factors.
        """
        own = self.factors_of(*labels)
        results: list[Combination] = []
        for whole in self._combinations:
            part = {key: whole[key] for key in own}
            if part not in results and not self._is_left(part, labels):
                results.append(part)
        return tuple(results)

    def without(self, cells: Iterable[tuple[str, Combination]]) -> Study:
        """The same study without some combinations, which a file of it does not say.

        Args:
            cells: label of a service, and levels of all factors that it feels.
        """
        left = {(label, _texts(levels)) for label, levels in cells}
        if not left:
            return self
        study = self.model_copy()
        study._left = self._left | left  # noqa: SLF001 - its own
        return study

    @property
    def is_whole(self) -> bool:
        """Whether it has all combinations of its design."""
        return not self._left

    def _is_left(self, part: Combination, labels: Iterable[str]) -> bool:
        """Whether one of these services cannot be had under the levels that it feels."""
        effect = ((label, self.factors_of(label)) for label in (labels if self._left else ()))
        own = ((label, {key: part[key] for key in keys}) for label, keys in effect)
        return any((label, _texts(levels)) in self._left for label, levels in own)

    def under(self, levels: Combination) -> Study:
        """The study of one combination of levels: these keys set, nothing left to vary.

        Raises:
            pydantic.ValidationError: a key does not take its level; `spec.load` has tried them all.
        """
        if not self.factors:
            return self
        name = repr(sorted(levels.items()))
        if name not in self._studies:
            table = self.model_dump(by_alias=True, exclude={"factors", "design"})
            for key, level in levels.items():
                keys.put(table, key, level)
            self._studies[name] = type(self).model_validate(table)
        return self._studies[name]

    def of(self, label: str) -> Study:
        """The study as one service is asked: what lasts, lasts as long as that one needs."""
        times = self.service(label).stretch
        if times == 1:
            return self
        name = f"of {label}"
        if name not in self._studies:
            self._studies[name] = self.model_copy(update={"run": self.run.stretched(times)})
        return self._studies[name]

    @cached_property
    def _combinations(self) -> tuple[Combination, ...]:
        return self.design.of_profile(self.run.profile).combinations_of(self.factors)

    @cached_property
    def _studies(self) -> dict[str, Study]:
        return {}

    def __copy__(self) -> Self:
        """Without what was computed of the original, which may differ in the copy."""
        copied = super().__copy__()
        for name in ("_combinations", "_studies"):
            copied.__dict__.pop(name, None)
        return copied


def _texts(levels: Combination) -> frozenset[tuple[str, str]]:
    return frozenset((key, level_text(level)) for key, level in levels.items())
