"""What else of a study goes with it: it has no keys of its own."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.spec import MaxRps, ServiceSpec
from sojourn.spec.form import Asks


def _no_effect(key: str, label: str | None, services: Sequence[ServiceSpec]) -> str:
    del label
    if key.startswith("run.search.") and not any(map(_is_searched, services)):
        return 'nothing is searched for; add "max_load" to measure'
    return ""


def _is_searched(service: ServiceSpec) -> bool:
    return "max_load" in service.measure or service.max_rps is not MaxRps.ACHIEVED_PEAK


ASKS = Asks(no_effect=_no_effect)
