"""How long and how often is measured: `[run]` and `[run.search]`.

Every field's description is what `schema/study.json` and the reference say about the key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from sojourn import units
from sojourn.spec import rates
from sojourn.spec.base import Model

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
RAW_MAX = 100_000_000
Count = Annotated[int, Field(ge=1, le=1_000)]


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


#: Raw requests of a point that are read again: 2 GiB of memory, where several clients' are joined.
RAW_MOST = 30_000_000


def raw_mistakes(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], str, str]]:
    """More raw requests than are read; records of before may ask for them."""
    run = table.get("run")
    count = run.get("raw_max") if isinstance(run, Mapping) else None
    if isinstance(count, int) and RAW_MOST < count <= RAW_MAX:  # beyond, the form refuses it
        what = f"run.raw_max is {count}, but at most {RAW_MOST} raw requests of a point are read"
        fix = f"give {RAW_MOST} or less; of more requests a uniform sample is stored"
        yield ("run", "raw_max"), what, fix


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
    raw_max: Annotated[int, Field(ge=0, le=RAW_MAX)]
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
