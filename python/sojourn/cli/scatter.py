"""How much p99 of equal runs differs from start to start, for whoever looks ahead."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sojourn.spec import Study


def scatter(study: Study, results: Path) -> tuple[float, str]:
    """Of ln p99 from start to start, and where that is known from, in words."""
    from sojourn import store
    from sojourn.plan import difference

    record = store.last(results, study.name)
    known = difference.spread_of(record.study, record.outcomes()) if record else None
    if record is None or not known:
        usual = f"{difference.SPREAD:.0%}".replace("%", " %")
        return difference.SPREAD, f"{usual}, as those of memcached on two CPUs that others use too"
    return known, f"{100 * known:.0f} %, as in {record.path}"
