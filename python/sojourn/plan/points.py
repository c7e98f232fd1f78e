"""One measurement: what a point of a plan says, and what became of it.

A plan is a pure function of the study and of the outcomes so far (`plan.next_point`). So a study
that was interrupted goes on where it stopped: its outcomes are read back and the function is asked
again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import WithJsonSchema
from pydantic_core import core_schema

from sojourn.plan.setting import Setting


class Verdict(StrEnum):
    """`unknown` beats `violated` beats `holds` when verdicts merge (METHOD, verdicts)."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """`unknown` beats `violated` beats `holds`; nothing measured is unknown."""
    for verdict in (Verdict.UNKNOWN, Verdict.VIOLATED):
        if verdict in verdicts:
            return verdict
    return Verdict.HOLDS if verdicts else Verdict.UNKNOWN


class Course(StrEnum):
    """How a run went on while it lasted, as analysis judges it (M8); `steady` where it does not."""

    STEADY = "steady"
    COLD = "cold"  # its warm-up was too short
    MOVES = "moves"  # no level: a longer run may have one
    GROWS = "grows"  # the queue does, from the first eighth to the last


class Phase(str):
    """Why a point is measured: a name, one object for each.

    The set is open, for every question has phases of its own (`sojourn.questions`); named here are
    those that other packages speak of.

    >>> Phase("sweep") is Phase.SWEEP, Phase("mine") is Phase("mine")
    (True, True)
    """

    __slots__ = ()
    _all: ClassVar[dict[str, Phase]] = {}

    PEAK: ClassVar[Phase]  # the load axis: max RPS by the study's definition (M19)
    SWEEP: ClassVar[Phase]  # latency against load, blocks in random order (M16)
    SEARCH: ClassVar[Phase]  # max load within QoS (M18, M28)
    CONFIRM: ClassVar[Phase]  # the found load once more, longer, over restarts (M18)
    CHECK: ClassVar[Phase]  # the instrument against a known truth (M20)
    SCHEDULED: ClassVar[Phase]  # the found load as scheduled, without the shield (M32)
    TRACE: ClassVar[Phase]  # where the time of each request goes, traced and not (M21)

    def __new__(cls, name: str) -> Phase:  # noqa: PYI034  # there are no others
        """The one of that name."""
        return cls._all.setdefault(name, super().__new__(cls, name))

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> core_schema.CoreSchema:
        """A text, to whoever writes or checks it."""
        return core_schema.no_info_after_validator_function(cls, core_schema.str_schema())


Phase.PEAK, Phase.SWEEP, Phase.SEARCH = Phase("peak"), Phase("sweep"), Phase("search")
Phase.CONFIRM, Phase.SCHEDULED = Phase("confirm"), Phase("scheduled")
Phase.CHECK, Phase.TRACE = Phase("check"), Phase("trace")


LEVELS = WithJsonSchema(
    {
        "type": "object",
        "additionalProperties": {"type": ["boolean", "integer", "number", "string"]},
    }
)


@dataclass(frozen=True, slots=True)
class Cell:
    """What makes a point the one it is: all attempts at it share a cell, and no one else does.

    Attributes:
        service: label of the service in the study.
        phase: why it is measured.
        repeat: block (round) of the randomised order, from 0.
        setting: what it is measured under.
    """

    service: str
    phase: Phase
    repeat: int = 0
    setting: Setting = field(default_factory=Setting)

    def key(self, attempt: int = 0) -> str:
        """Its text: `memcached/sweep/b2/load=0.7`, of later attempts `…/load=0.7~1`."""
        names = [self.service, str(self.phase), f"b{self.repeat}", self.setting.text]
        text = "/".join(name for name in names if name)
        return f"{text}~{attempt}" if attempt else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the runner and the readers must know of a point; its question says it (`PhaseKind`).

    Attributes:
        is_stated: the plan wrote these. Points of records from before they were written have none,
            and get those of their phase when a record is read (`Questions.stated`).
        is_of_all: several services are asked at once.
        is_bare: lives without the shield, on a server's CPUs as the machine schedules them.
        is_turned: knobs are turned while it lives, some of which a shield does not let.
        is_raw: raw requests are kept, for each of them counts by when it was due.
        is_read: findings are made of their arrays (histograms, seconds), not of outcomes alone.
        is_decided: they ask only whether a load meets its target, which a late client or others
            on the server's CPUs can make seem worse, never better.
        is_experiment: whoever else is on the server's CPUs is there on purpose.
        keeps: the question that has files of its own beside the load's; "": none has.
        neighbours: those that are beside it instead of the study's; None: the study's.
    """

    is_stated: bool = True
    is_of_all: bool = False
    is_bare: bool = False
    is_turned: bool = False
    is_raw: bool = False
    is_read: bool = False
    is_decided: bool = False
    is_experiment: bool = False
    keeps: str = ""
    neighbours: tuple[str, ...] | None = None


UNSTATED = Rules(is_stated=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measurement to be made.

    Attributes:
        key: text of its cell and attempt, unique in the study and stable over resumes; it is
            written by `Cell.key` and read by people only.
        service: label of the service in the study.
        setting: what it is measured under: the level of every factor.
        offered_rps: offered load, requests/s; None: closed loop, as fast as it goes.
        fraction: the same as a share of max RPS, where the plan knows it.
        repeat: block (round) of the randomised order, from 0; the service is restarted for each.
        measure_s, warmup_s: lengths, s.
        seed: of the generator's draws.
        overrides: keys of the generator's job that this point sets (JSON values).
        beside: points of other services that are measured at the same time, each with a generator
            of its own; their load begins and ends with this one's.
        rules: what the runner and the readers must know of it.
    """

    key: str
    service: str
    phase: Phase
    setting: Annotated[Setting, LEVELS] = field(default_factory=Setting)
    offered_rps: float | None
    fraction: float | None = None
    repeat: int = 0
    measure_s: float
    warmup_s: float
    seed: int
    overrides: tuple[tuple[str, str | float | int | bool], ...] = ()
    beside: tuple[Point, ...] = ()
    rules: Rules = UNSTATED

    @property
    def all(self) -> tuple[Point, ...]:
        """The points of one measurement: this one and those beside it."""
        return (self, *self.beside)

    @property
    def cell(self) -> Cell:
        """What makes it the point it is, whichever attempt this one is."""
        return Cell(self.service, self.phase, self.repeat, self.setting)

    def is_of_cell(self, other: Point) -> bool:
        """Whether it is of the same cell; what differs most often is compared first."""
        return (
            self.repeat == other.repeat
            and self.phase is other.phase
            and self.setting == other.setting
            and self.service == other.service
        )

    @property
    def life(self) -> str:
        """Points of one life share one start of the service; a new life is a restart (M15).

        Where a key of the service is varied, each of its levels has starts of its own.
        """
        text = f"{self.service}/{self.phase}/{self.repeat}"
        levels = self.setting.whole_plot.text
        return f"{text}/{levels}" if levels else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Misses:
    """Requests of a run and those that missed the QoS bound.

    Attributes:
        requests: that count.
        over: of those, how many took longer than the bound or never completed.
        clusters: the same cut where misses lie further apart than an excursion lasts; their sum
            is `over` (M28).
    """

    requests: int
    over: int
    clusters: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a point: the few numbers on which the plan decides what comes next.

    All else (histograms, series, raw requests) stays in `folder` and is read by `samples`.

    Attributes:
        verdict: `unknown` if a self-check failed; then the numbers decide nothing.
        offered_rps, achieved_rps: as planned and as completed, requests/s.
        requests: in the measured part, lost ones included, outages excluded by the log (M27).
        over_bound: of those, how many took longer than the bound or were lost; None: no bound.
        lost: of those, how many never completed.
        mean_ns, p50_ns, p95_ns, p99_ns: sojourn time; None: infinite or not measured.
        correlation: n / n_eff of the requests (M9), at least 1; counts are divided by it
            before a test decides.
        wall_s: time the point took, restart and preload included, s.
        clusters: misses that belong together, as `Misses.clusters` (M28).
        undisturbed: the same without windows that a log of the server's CPUs marks; None: none is.
        over_surely: of `over_bound`, those that missed by more than all that a late or stopped
            client can have added; None: the client added next to nothing (M33).
        shield: what kept the server's CPUs for the server: "none", "priority", "move".
        neighbour_per_s, neighbour_of_alone: progress of the neighbours while load ran, in their
            units, and as a share of that alone and flat out (M22); None: not known.
        course: how it went on while it lasted (M8).
        cpu_ns: CPU time of the server for each completed request, ns; None: not counted.
        p999_ns: sojourn time; None: as above, or the record is older.
        refused, refused_with: requests of which statuses say that no more are taken; which ones.
        failed: of `lost`, those that no wait explains: refused, cut off, or answered wrongly.
        used_cpus: CPU time of the server in each second, s; None: not counted.
    """

    point: Point
    verdict: Verdict
    reasons: tuple[str, ...]
    offered_rps: float
    achieved_rps: float
    requests: int
    over_bound: int | None
    lost: int
    mean_ns: float | None
    p50_ns: float | None
    p95_ns: float | None
    p99_ns: float | None
    correlation: float
    wall_s: float
    folder: str
    clusters: tuple[int, ...] = ()
    undisturbed: Misses | None = None
    over_surely: int | None = None
    shield: str = "none"
    neighbour_per_s: float | None = None
    neighbour_of_alone: float | None = None
    course: Course = Course.STEADY
    cpu_ns: float | None = None
    p999_ns: float | None = None
    refused: int = 0
    refused_with: tuple[str, ...] = ()
    used_cpus: float | None = None
    failed: int = 0

    @property
    def is_believed(self) -> bool:
        """Whether its numbers may be used: it passed its self-checks, and was in steady state."""
        return self.verdict is not Verdict.UNKNOWN and self.course is Course.STEADY

    @property
    def is_upper_bound(self) -> bool:
        """Whether quantiles and misses are too high if anything: evidence, whatever the verdict."""
        return self.over_surely is not None

    def is_lost(self, q: float) -> bool:
        """Whether the request at quantile `q` never completed; of 1: whether any did not."""
        return math.ceil(q * self.requests - 1e-9) > self.requests - self.lost
