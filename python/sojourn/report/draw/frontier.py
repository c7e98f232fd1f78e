"""Where in a matrix a service stops keeping its target: edges of cells, to draw a line along."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sojourn.report.draw.table import Record, number

AXES = ("row", "column")  # the service that gives the rows, and that of the columns


def edged(records: Sequence[Record], selected: Sequence[tuple[bool, ...]]) -> list[Record]:
    """The same cells, each with whether the next one above and on its right is unlike it.

    Args:
        records: a cell each, with `row` and `column`.
        selected: of each cell whether the row's service and the column's keep their targets.

    >>> cells = [{"row": row, "column": 0.1} for row in (0.1, 0.2)]
    >>> found = edged(cells, [(True, True), (False, True)])
    >>> [(one["row_above"], one["column_above"]) for one in found]
    [(1, 0), (0, 0)]
    """
    rows, columns = (sorted({_at(one, key) for one in records}) for key in AXES)
    of = {(_at(r, "row"), _at(r, "column")): k for r, k in zip(records, selected, strict=True)}
    above = dict(itertools.pairwise(rows))
    right = dict(itertools.pairwise(columns))
    results = []
    for record in records:
        row, column = _at(record, "row"), _at(record, "column")
        beside = {"above": (above.get(row), column), "right": (row, right.get(column))}
        edges: Record = {
            f"{owner}_{edge}": int(key in of and of[key][nth] != of[row, column][nth])
            for nth, owner in enumerate(AXES)
            for edge, key in beside.items()
        }
        results.append(record | edges)
    return results


def _at(record: Record, key: str) -> float:
    return number(record[key]) or 0.0
