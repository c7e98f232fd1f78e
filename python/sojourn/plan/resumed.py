"""Which points are measured again when a study is resumed.

They are those of which nothing was measured: a start that was interrupted, or a service that died,
is no answer about a load. What a self-check refused has numbers, and stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.plan import failures
from sojourn.plan.next import next_point
from sojourn.plan.points import Outcome
from sojourn.plan.questions import Questions
from sojourn.spec import Study

MOST = 100  # measurements: for each of them the study is planned once


def again(study: Study, outcomes: Sequence[Outcome], questions: Questions) -> tuple[Outcome, ...]:
    """Outcomes that should no longer count, because their points are to be measured again.

    Of each cell it is the last attempt, so that the plan wants one attempt more, of the same key.
    An outcome stays if without it the plan wants another point: a search has passed it over. So do
    those of a combination that failed again and again: only --new tries it.

    Args:
        study: without what this machine cannot host.
        outcomes: in the order in which they were made.
        questions: all that may be asked.
    """
    ledger, results = failures.Ledger(study), list[Outcome]()
    for outcome in outcomes:
        ledger.add(outcome)
    for members in failures.without_numbers(outcomes)[:MOST]:
        if ledger.is_late(failures.home_of(study, members[0])):
            continue
        rest = [outcome for outcome in outcomes if not any(outcome is one for one in members)]
        point = next_point(study, rest, questions)
        if point is not None and point.key == members[0].point.key:
            results += members
    return tuple(results)
