"""`sojourn.opened/1`: what `sojourn open` writes as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sojourn.report import show
from sojourn.report.opened import Side, caveats

Schema: TypeAlias = Literal["sojourn.opened/1"]
Ns: TypeAlias = float | Literal["inf"]  # "inf": lost requests decide it, or nothing bounds it


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """The mean or a quantile.

    Attributes:
        number: its name, such as p99.
        q: quantile in (0, 1); null for the mean.
        value_ns: null: it cannot be known.
        interval_ns: lower and upper end; null: its file carries none.
        requests, effective: on how many requests it rests; null: not known.
        rests_on: what it was computed from.
    """

    number: str
    q: float | None
    value_ns: Ns | None
    interval_ns: tuple[Ns, Ns] | None
    requests: int | None
    effective: float | None
    rests_on: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOpened:
    """One set of requests; what is not known is null, never 0.

    Attributes:
        series: what it is called in tables: A, B, …
        measured_from: which clock times are counted from.
        loop: what made the load.
        means: what its numbers mean and cannot say.
        page: a page that says more.
        failed: requests that failed, by reason; null: the file does not say whether any did.
        failed_is_least: the file may lack some of those that failed.
        most_ns: the longest time.
    """

    series: str
    name: str
    format: str
    tool: str
    measured_from: str
    loop: str
    means: Sequence[str]
    notes: Sequence[str]
    page: str
    requests: int | None
    failed: dict[str, int] | None
    failed_is_least: bool
    seconds: float | None
    rate_rps: float | None
    most_ns: Ns | None
    numbers: Sequence[Number]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedFile:
    """All that was opened, in the order of its names on the command line."""

    schema: Schema
    caveats: Sequence[str]
    series: Sequence[OneOpened]


def table(sides: Sequence[Side]) -> OpenedFile:
    """All as JSON has it."""
    return OpenedFile(
        schema="sojourn.opened/1", caveats=caveats(sides), series=[_one(side) for side in sides]
    )


def _one(side: Side) -> OneOpened:
    return OneOpened(
        series=side.letter,
        name=side.name,
        format=side.form,
        tool=side.facts.tool,
        measured_from=side.facts.clock,
        loop=side.facts.loop,
        means=side.facts.sentences,
        notes=side.notes,
        page=side.facts.page,
        requests=side.requests,
        failed=None if side.failed is None else dict(side.failed),
        failed_is_least=not side.are_all_counted,
        seconds=side.seconds,
        rate_rps=side.rate_rps,
        most_ns=side.most_ns,
        numbers=[
            Number(
                number=show.quantile(one.q),
                q=one.q,
                value_ns=one.value,
                interval_ns=(one.interval.lo, one.interval.hi) if one.interval else None,
                requests=one.requests or None,
                effective=one.effective or None,
                rests_on=why,
            )
            for one, why in zip(side.estimates, side.basis, strict=True)
        ],
    )
