"""How much care is taken: three sets of lengths and repeats, in reading order.

`full` is the papers' protocol (C6: 2 minutes a point, warm-up excluded; C7: 10…100 %). `standard`
and `quick` reach an answer sooner; their intervals are wider and the report says by how much.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sojourn.spec.run import RunSpec, SearchSpec

_TENTHS = tuple(round(0.1 * n, 1) for n in range(1, 11))

PROFILES: Mapping[str, RunSpec] = MappingProxyType(
    {
        "quick": RunSpec(
            profile="quick",
            measure_s=2.0,
            warmup_s=0.3,
            repeats=1,
            fractions=(0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0),
            peak_s=2.0,
            peak_repeats=1,
            check_s=10.0,
            check_repeats=1,
            retries=2,
            budget_s=82.0,
            raw_max=0,
            search=SearchSpec(
                probe_s=2.0,
                resolution=0.05,
                budget_s=36.5,
                confirm_s=3.0,  # with these 22 s of load, of which less settles no bound of 1 ms
                confirm_repeats=2,
            ),
        ),
        "standard": RunSpec(
            profile="standard",
            measure_s=5.0,
            warmup_s=0.5,
            repeats=4,
            fractions=_TENTHS,
            peak_s=4.0,
            peak_repeats=3,
            check_s=20.0,
            check_repeats=2,
            retries=2,
            budget_s=480.0,
            raw_max=0,
            search=SearchSpec(
                probe_s=3.0,
                resolution=0.05,
                budget_s=150.0,
                confirm_s=5.0,
                confirm_repeats=3,
            ),
        ),
        "full": RunSpec(
            profile="full",
            measure_s=120.0,
            warmup_s=10.0,
            repeats=5,
            fractions=_TENTHS,
            peak_s=30.0,
            peak_repeats=5,
            check_s=60.0,
            check_repeats=3,
            retries=3,
            budget_s=14_400.0,
            raw_max=1_000_000,
            search=SearchSpec(
                probe_s=20.0,
                resolution=0.02,
                budget_s=3_600.0,
                confirm_s=120.0,
                confirm_repeats=5,
            ),
        ),
    }
)
