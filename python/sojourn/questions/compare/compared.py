"""What a comparison found: a row for each number of each service."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.analysis.comparison_rows import Moved
from sojourn.findings.section import Section
from sojourn.stats.gate_rule import Ruling
from sojourn.stats.interval import Interval
from sojourn.stats.paired_ratio import Judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One number of one service, held against the first.

    Attributes:
        service: its label.
        number: as people call it.
        first_ns, other_ns: medians over blocks; None: not counted, or no time; may be `inf`.
        first_rps, other_rps: the same of max RPS, requests/s; None: it is a time.
        pairs: blocks in which both have it.
        ratio: to the first; None without a pair.
        interval: of it, at all times together; None if neither end is known.
        judgement: in the family of all numbers.
        scatter: standard deviation of a block's log ratio, upper end; None with fewer than 4 pairs.
        modes: the starts of one side fall into two groups.
        blocks_for: blocks in all that a change of `target` takes; None: more than 2,000.
        target: that change, as a share.
    """

    service: str
    number: str
    first_ns: float | None
    other_ns: float | None
    pairs: int
    ratio: float | None
    interval: Interval | None
    judgement: Judgement
    scatter: float | None = None
    modes: bool = False
    blocks_for: int | None = None
    target: float = 0.1
    first_rps: float | None = None
    other_rps: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Section):
    """Every service of the comparison but the first.

    Attributes:
        called: (label, what it is) of every service.
        first: label of the service that the others are held against.
        rows: by service and number.
        ruling: of a gate; None: it was no gate.
        decided_by: numbers for which a gate alarmed.
        first_alarm: block of a gate's first alarm; None: there was none.
        blocks: that were measured whole.
        block_s: mean time that a block took, s.
        offered_rps: load of every service; 0: only max RPS is compared.
        is_traced: services were traced after the answer.
        moved: which stage moved, of each service that was traced.
        left_out: (label, blocks that are left out because it had no valid run).
        lacking: numbers that no block has of both, if they alone keep a gate from its answer.
    """

    called: tuple[tuple[str, str], ...] = ()
    first: str = ""
    rows: tuple[Row, ...] = ()
    ruling: Ruling | None = None
    decided_by: tuple[str, ...] = ()
    first_alarm: int | None = None
    blocks: int = 0
    block_s: float = 0.0
    offered_rps: float = 0.0
    is_traced: bool = False
    moved: tuple[Moved, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()
    lacking: tuple[str, ...] = ()
