"""What lies ahead of a study, which is played through once.

The plan is a pure function of the study (`plan.points`), so the key has the whole study: its
values, which of them were set, the combinations that this machine cannot host, and the code. Only
what comes back equal is stored.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from sojourn.disk import cache
from sojourn.store import answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sojourn.plan import Rehearsal
    from sojourn.plan.difference import Shown
    from sojourn.spec import Study


def rehearsed(study: Study) -> Rehearsal:
    """The points ahead and their times, as `plan.rehearse` makes them."""
    from sojourn.plan import rehearse
    from sojourn.questions import PLANS

    key = f"rehearsal\n{_state(study)}"
    content = cache.load(key)
    if content is not None:
        return _read(content)
    ahead = rehearse(study, PLANS)
    written = _written(ahead)
    if _read(written) == ahead:
        cache.keep(key, written)
    return ahead


def shown(study: Study, ahead: Rehearsal, spread: float) -> Sequence[Shown]:
    """What the planned time can show, as `difference.shown` computes it."""
    from sojourn.plan import difference
    from sojourn.questions import PLANS

    key = f"shown {spread!r}\n{_state(study)}"
    content = cache.load(key)
    if content is not None:
        return [difference.Shown(**row) for row in json.loads(content)]
    results = difference.shown(study, ahead, PLANS, spread)
    cache.keep(key, json.dumps([asdict(one) for one in results]).encode())
    return results


def _state(study: Study) -> str:
    """A text that differs wherever what lies ahead may."""
    values = study.model_dump_json(by_alias=True)
    asked = study.model_dump_json(by_alias=True, exclude_unset=True)
    return "\n".join((answers.code(), values, asked, repr(study.lacking)))


def _written(ahead: Rehearsal) -> bytes:
    from sojourn.plan import codec

    table = {
        "points": [codec.to_json(point) for point in ahead.points],
        "wall_s": ahead.wall_s,
        "measure_s": ahead.measure_s,
        "walls_s": ahead.walls_s,
        "shortfalls": ahead.shortfalls,
        "is_cut": ahead.is_cut,
    }
    return json.dumps(table).encode()


def _read(content: bytes) -> Rehearsal:
    from sojourn.plan import Rehearsal, codec

    table = json.loads(content)
    return Rehearsal(
        points=tuple(map(codec.from_json, table["points"])),
        wall_s=table["wall_s"],
        measure_s=table["measure_s"],
        walls_s=tuple(table["walls_s"]),
        shortfalls=tuple(table["shortfalls"]),
        is_cut=table["is_cut"],
    )
