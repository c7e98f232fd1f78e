"""How the search for the highest load came to its interval, run by run (M28)."""

from __future__ import annotations

import math
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass

from sojourn.browse.words import served
from sojourn.plan import Outcome, design, progress
from sojourn.questions import PLANS
from sojourn.spec import Study

STEPS = 24  # of a search; of a longer one the newest


@dataclass(frozen=True, slots=True)
class Step:
    """What all runs up to one of them say.

    Attributes:
        runs: how many the model had.
        lo, hi: 90 % interval of the border, requests/s: 0 and infinity are open ends.
        middle: its median, requests/s; None: there is none.
    """

    runs: int
    lo: float
    hi: float
    middle: float | None


#: Steps by what is searched and by the run that was the last one of it.
Steps = MutableMapping[tuple[str, str], Step | None]


def of(study: Study, outcomes: Sequence[Outcome], before: Steps) -> dict[str, tuple[Step, ...]]:
    """Steps of each search, by what is searched (`memcached, threads = 2`).

    Args:
        study: without the combinations that are skipped.
        outcomes: of all runs so far.
        before: steps that were computed for fewer runs; those of now are put into it.
    """

    def at(name: str, end: int) -> Step | None:
        key = (name, known[end - 1].point.key)
        if key not in before:
            before[key] = step(study, known[:end])
        return before[key]

    known = [PLANS.known(outcome) for outcome in outcomes]
    ends: dict[str, list[int]] = {}
    for number, outcome in enumerate(known, 1):
        if outcome.offered_rps and outcome.point.offered_rps is not None:
            ends.setdefault(served(study, outcome.point), []).append(number)
    result = {}
    for name, places in ends.items():
        last = at(name, places[-1])
        if last is None:  # nothing is searched here
            continue
        steps = [*(at(name, end) for end in places[-STEPS:-1]), last]
        result[name] = tuple(one for one in steps if one is not None)
    return result


def step(study: Study, outcomes: Sequence[Outcome]) -> Step | None:
    """What the runs so far say about the border of the last one's combination."""
    group = design.group_of(study, outcomes[-1].point, outcomes)
    known = progress(group.study, group.study.service(group.service), group.outcomes, PLANS)
    for question in PLANS.values():
        search = question.searched(known)
        if search is not None and search.interval_rps is not None:
            lo, hi = search.interval_rps
            if lo <= 0 and math.isinf(hi):
                return None
            return Step(search.starts, lo, hi, search.estimate_rps)
    return None
