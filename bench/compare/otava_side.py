"""Apache Otava on the series of a `.npy` file; run by a Python that has `apache-otava`.

Usage: PYTHON bench/compare/otava_side.py FILE P_VALUE FIRST

Prints, for each series, the number of values after which Otava with its default window first
reports a change point, looking after each value from FIRST on; -1: never.
"""

from __future__ import annotations

import sys

import numpy as np
from otava import AnalysisOptions, Metric, Series


def alarms(values: list[float], p_value: float) -> bool:
    """Whether it reports any change point in all of them."""
    series = Series(
        test_name="series",
        branch=None,
        time=list(range(len(values))),
        metrics={"value": Metric(direction=-1, scale=1.0)},
        data={"value": values},
        attributes={},
    )
    found = series.analyze(AnalysisOptions(max_pvalue=p_value)).change_points_by_time
    return bool(list(found))


def main() -> None:
    rows, p_value, first = np.load(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    for row in rows:
        # Far from 0: it reports relative changes, and a mean near 0 has none.
        values = [float(100 + value) for value in row]
        seen = (n for n in range(first, len(values) + 1) if alarms(values[:n], p_value))
        print(next(seen, -1), flush=True)


if __name__ == "__main__":
    main()
