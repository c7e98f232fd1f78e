"""One question to the simulator, and the combinations of many."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from sojourn.errors import SpecFault

COMBINATIONS_MAX = 64
MACHINE = ("scheduler", "neighbour")
SYSTEM = (
    *("instances", "fanout", "hedge", "timeout", "retries", "backoff", "budget", "errors"),
    *("scale", "startup", "speed"),
)
#: What changes nothing unless one of these is asked as well.
NEEDS = {
    "startup": ("scale",),
    "backoff": ("retries",),
    "budget": ("retries",),
    "retries": ("timeout", "errors"),  # only a call that fails is tried again
}
NOTHING = frozenset({"", "none", "0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """One system; texts as people write them, "none" for nothing of the kind.

    Attributes:
        cores: CPUs of the machine, or workers of one instance.
        scheduler: of the machine: eevdf, cfs, bvt, rt, fifo.
        neighbour: of the machine: none, spin, or ON/OFF such as 6ms/42ms.
        instances: of the service, each with a queue of its own.
        fanout: calls of one request at once.
        hedge: time after which a second copy of a call is sent.
        timeout: time after which a call is given up.
        retries: attempts after the first.
        backoff: pause before the second attempt, twice as long before the third.
        budget: most retries for each call, over all; 0: no limit.
        errors: share of replies that are errors.
        scale: fewest and most instances, such as 1..8.
        startup: time until a new instance serves.
        speed: the lower speed and the use above which it is left, such as 0.6@0.8.
    """

    cores: str = "1"
    scheduler: str = "none"
    neighbour: str = "none"
    instances: str = "1"
    fanout: str = "1"
    hedge: str = "none"
    timeout: str = "none"
    retries: str = "0"
    backoff: str = "0"
    budget: str = "0"
    errors: str = "0"
    scale: str = "none"
    startup: str = "30s"
    speed: str = "none"

    @property
    def is_machine(self) -> bool:
        """Whether it asks about a scheduler."""
        return self.scheduler != "none"


NAMES = tuple(one.name for one in fields(Combination))


def combinations(levels: Mapping[str, Sequence[str]]) -> Iterator[Combination]:
    """Every combination of levels, in the order of writing.

    Raises:
        SpecFault: they are too many, ask for calls and for a scheduler at once, or for what
            changes nothing.
    """
    asked = {name: tuple(each) for name, each in levels.items() if each}
    count = 1
    for each in asked.values():
        count *= len(each)
    if count > COMBINATIONS_MAX:
        raise SpecFault(
            f"{count} combinations are too many", at="levels", fix=f"ask for {COMBINATIONS_MAX}"
        )
    machine = [name for name in MACHINE if name in asked]
    system = [name for name in SYSTEM if name in asked]
    if machine and system:
        raise SpecFault(
            f"--{machine[0]} asks about one machine, --{system[0]} about services that call others",
            at=f"--{system[0]}",
            fix="ask two questions; the simulator of calls knows no scheduler",
        )
    _refuse_in_vain(asked)
    if machine and "scheduler" not in asked:
        asked["scheduler"] = ("eevdf",)
    for each in itertools.product(*asked.values()):
        yield Combination(**dict(zip(asked, each, strict=True)))


def _refuse_in_vain(asked: Mapping[str, Sequence[str]]) -> None:
    """SpecFault for levels between which nothing could differ."""
    used = {name for name, each in asked.items() if not NOTHING.issuperset(each)}
    for name, needed in NEEDS.items():
        if name in used and used.isdisjoint(needed):
            others = " or ".join(f"--{one}" for one in needed)
            raise SpecFault(
                f"--{name} changes nothing without {others}",
                at=f"--{name}",
                fix=f"add {others}, or leave it out",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What holds for all combinations.

    Attributes:
        service, unit: service time of one request, as the simulator reads it.
        arrivals: process.
        rate: offered load, or "" for the highest within the target.
        q, bound_ns: the target.
        requests: of one run.
        seed: of every draw.
    """

    service: str
    unit: str
    arrivals: str = "poisson"
    rate: str = ""
    q: float = 0.99
    bound_ns: float = 1e6
    requests: int = 20_000
    seed: int = 1
