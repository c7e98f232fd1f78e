"""Where a part of a machine served, price and power may be those of all of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sojourn import disk
from sojourn.host.shared import MACHINE
from sojourn.plan.points import Outcome
from sojourn.spec.hosts import SERVER
from sojourn.store import files
from sojourn.store.record import SERVICE, Record

if TYPE_CHECKING:
    from sojourn.report.platforms import Served

_CPUS = re.compile(r", (\d{1,5}) CPUs?(?:,|$)")  # in a machine's facts, which `stage` writes


def _whole(record: Record, outcomes: Sequence[Outcome], name: str) -> int | None:
    """CPUs of the machine itself, as its points noted them; None: they did not."""
    for outcome in outcomes:
        at = record.folder_of(outcome) / SERVICE
        if outcome.point.setting.get(SERVER) == name and at.exists():
            with files.readable(at, "remove the folder of this point, then run the study again"):
                setup = dict(disk.read_json(at).get("setup") or ())
                match = _CPUS.search(str(setup.get(MACHINE, "")))
                return int(match[1]) if match else None
    return None


def doubted(record: Record, outcomes: Sequence[Outcome], served: Served) -> Served:
    """A server, and that only a part of it served; as it is where nothing has a price or power."""
    if served.cpus is None or (served.price_usd is None and served.peak_watts is None):
        return served
    whole = _whole(record, outcomes, served.name)
    if whole is None or served.cpus >= whole:
        return served
    part = f"{served.cpus:.3g} of its {whole} CPUs served"
    return replace(served, about=f"{served.about}; {part}, so give price and power of that part")
