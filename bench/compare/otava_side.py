"""Apache Otava on series from files; run by a Python that has `apache-otava`.

Usage: PYTHON bench/compare/otava_side.py FOLDER

Each file of the folder has series (`rows`), a p-value and `first`. A line is printed for each file:
for each series, the number of values after which Otava with its default window first reports a
change point, looking after each value from `first` on; -1: never.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from otava.series import AnalysisOptions, Metric, Series


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
    options = AnalysisOptions()
    options.max_pvalue = p_value
    return bool(list(series.analyze(options).change_points_by_time))


def main() -> None:
    for file in sorted(Path(sys.argv[1]).glob("*.npz")):
        case = np.load(file)
        p_value, first = float(case["p_value"]), int(case["first"])
        line = []
        for row in case["rows"]:
            # Far from 0: it reports relative changes, and a mean near 0 has none.
            values = [float(100 + value) for value in row]
            looks = range(first, len(values) + 1)
            line.append(next((n for n in looks if alarms(values[:n], p_value)), -1))
        print(*line, flush=True)


if __name__ == "__main__":
    main()
