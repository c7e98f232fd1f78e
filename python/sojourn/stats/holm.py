"""Several hypotheses at once: Holm's p-values of a family.

Source: Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
Statistics 6 (1979).
"""

from __future__ import annotations

from collections.abc import Mapping


def adjusted(p_values: Mapping[str, float]) -> dict[str, float]:
    """p-values of a family; one that is at most alpha is refused at the family's level alpha.

    >>> adjusted({"p99": 0.04, "mean": 0.01, "cpu": 0.03})
    {'mean': 0.03, 'cpu': 0.06, 'p99': 0.06}
    """
    results: dict[str, float] = {}
    highest = 0.0
    ordered = sorted(p_values.items(), key=lambda pair: pair[1])
    for number, (key, p) in enumerate(ordered):
        highest = max(highest, min(1.0, p * (len(ordered) - number)))
        results[key] = highest
    return results
