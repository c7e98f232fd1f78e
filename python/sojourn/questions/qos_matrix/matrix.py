"""A QoS matrix: which of two services meet their targets at a pair of loads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.findings.section import Section
from sojourn.plan.setting import Level

BOTH, NONE, OPEN = "both", "neither", "open"
SAME = 1e-9  # sums of loads that differ by less are equal


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCell:
    """One pair of loads.

    Attributes:
        row, column: loads of both services, as shares of max RPS.
        meets: "both", "NAME only", "neither" or "open".
        chances: by service in the order of the matrix, that it meets its target; 0 to 1.
        runs: measurements of this pair of which both runs were believed; lost: those that were not.
        p_ns: by service, the median over these of its 99th percentile, ns; None: none was believed,
            or it is infinite.
    """

    row: float
    column: float
    meets: str
    chances: tuple[float, float]
    runs: int
    lost: int
    p_ns: tuple[float | None, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The matrix under one combination of the study's factors.

    Attributes:
        services: labels; the first gives the rows.
        targets: of both, in words.
        under, levels: the levels, in words and as (factor, level) pairs; "" and () without factors.
        cells: row by row.
        measurements: that were made, believed or not; grid: what a full grid takes.
        is_monotone: nothing speaks against it.
        reasons: why something is open.
    """

    services: tuple[str, str]
    targets: tuple[str, str]
    under: str
    cells: tuple[MatrixCell, ...]
    measurements: int
    grid: int
    is_monotone: bool
    reasons: tuple[str, ...] = ()
    levels: tuple[tuple[str, Level], ...] = ()

    @property
    def counts(self) -> Mapping[str, int]:
        """How many cells are what."""
        return Counter(cell.meets for cell in self.cells)

    @property
    def most(self) -> MatrixCell | None:
        """The pair with the highest sum that fits, of several the most even; None: none fits."""
        return max(
            (cell for cell in self.cells if cell.meets == BOTH),
            key=lambda cell: (round(cell.row + cell.column, 9), min(cell.row, cell.column)),
            default=None,
        )

    @property
    def is_bounded(self) -> bool:
        """Whether the pair with the highest sum that fits is surely that: none above it is open."""
        sums = [cell.row + cell.column for cell in self.cells if cell.meets == BOTH]
        above = (cell.row + cell.column for cell in self.cells if cell.meets == OPEN)
        return not any(one > max(sums, default=0.0) + SAME for one in above)


@dataclass(frozen=True, slots=True, kw_only=True)
class QosMatrix(Section):
    """The matrices of a study, one under each combination of levels."""

    matrices: tuple[Matrix, ...] = ()
