"""What else of a study goes with it: it has no keys of its own."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.spec import ServiceSpec
from sojourn.spec.form import Asks


def _no_effect(key: str, label: str | None, services: Sequence[ServiceSpec]) -> str:
    del label
    if key == "neighbour" and any("breakdown" in service.measure for service in services):
        return 'measure = ["breakdown"] varies the neighbour itself; leave one of them out'
    return ""


ASKS = Asks(in_shares=True, no_effect=_no_effect)
