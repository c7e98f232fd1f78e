"""The first thing that is reported about a service: its number, how sure, and what would settle it.

Page and terminal show the same tiles; nothing here is computed but places on a bar.
"""

from __future__ import annotations

from dataclasses import dataclass

from sojourn import units
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.state import Settle
from sojourn.plan.points import Verdict
from sojourn.report import doubts, parts, show
from sojourn.report.section import Bar, Number


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One service's answer.

    Attributes:
        number, unit: the answer; `unknown` without a unit if there is none.
        said: how sure it is and what it rests on, or what the number is.
        target: the QoS target; "" without one.
        why: what is in the way, for an answer that is no narrow interval.
        notes: what else belongs to the answer: the machine's share in it.
    """

    service: str
    verdict: Verdict
    number: str
    unit: str
    said: str
    target: str
    bar: Bar | None
    why: str
    notes: tuple[str, ...]
    settle: Settle | None

    @property
    def line(self) -> str:
        """Number, unit and interval: `≈ 107k requests/s (97k–115k, 90 %; 36 runs, 82 s)`."""
        words = " ".join(word for word in (self.number, self.unit) if word)
        return f"{words} ({self.said})" if self.said else words


def of_service(service: ServiceFinding) -> Tile:
    """The tile of a service, with or without a target."""
    count = _number(service)
    reasons = [reason for kind in parts.sections() for reason in kind.reasons(service)] + [
        *service.reasons
    ]
    is_open = service.verdict is Verdict.UNKNOWN and reasons
    return Tile(
        service=service.service,
        verdict=service.verdict,
        number=count.number,
        unit=count.unit,
        said=count.said,
        target=target(service),
        bar=next(filter(None, (kind.bar(service) for kind in parts.sections())), None),
        why=show.uncoded(doubts.foremost(reasons))
        if is_open
        else "",  # without the code of its rule
        notes=tuple(note for kind in parts.sections() for note in kind.notes(service)),
        settle=next(filter(None, (kind.settle(service) for kind in parts.sections())), None),
    )


def target(service: ServiceFinding) -> str:
    """The QoS target in short, such as `p99 ≤ 1 ms`; "" without one."""
    qos = service.qos
    return f"{show.quantile(qos.q)} ≤ {show.time(qos.bound_ns)}" if qos else ""


def short(service: ServiceFinding) -> str:
    """The answer in a word or two, for a headline: `≈ 107k/s`."""
    return _number(service).short


def _number(service: ServiceFinding) -> Number:
    results = (kind.number(service) for kind in parts.sections())
    return next(filter(None, results), Number(number="unknown", short="unknown"))


def settles(settle: Settle) -> str:
    """What the settling command is for and how long it takes: `To find …, 3 min 11 s`."""
    return f"To {settle.why}, {units.show_s(settle.seconds)}"
