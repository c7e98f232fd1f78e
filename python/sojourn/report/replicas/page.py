"""One self-contained HTML page of all replicas, in the look of the lab's reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sojourn.models.replicate.catalogue import Entry
from sojourn.models.replicate.kind import Replica, Word
from sojourn.report import page
from sojourn.report.draw.figure import Figure, unchecked
from sojourn.report.replicas import curves, matrices


def html(
    replicas: Sequence[Replica], catalogue: Sequence[Entry], *, command: str, made: str
) -> str:
    """The page.

    Args:
        replicas: what was simulated or computed.
        catalogue: every id of the papers and how it stands.
        command: what makes the page again.
        made: when, for people.
    """
    drawn = {replica.id: figures(replica) for replica in replicas}
    return page.rendered(
        "replicas.html.j2",
        [figure for some in drawn.values() for figure in some],
        replicas=replicas,
        drawn=drawn,
        catalogue=catalogue,
        answer=answer(replicas),
        counts=Counter(entry.state for entry in catalogue),
        command=command,
        made=made,
    )


def figures(replica: Replica) -> list[Figure]:
    """Figures of a replica: first its curves, then its matrices."""
    with unchecked():
        return [*curves.figures(replica), *matrices.figure(replica)]


def answer(replicas: Sequence[Replica]) -> str:
    """The page's one sentence.

    >>> answer([])
    'Nothing was replicated.'
    """
    if not replicas:
        return "Nothing was replicated."
    by = {str(word): [r.id for r in replicas if r.verdict == word] for word in Word}
    judged = len(replicas) - len(by["arithmetic"])
    parts = [f"{len(by['holds'])} of {judged} experiments have the papers' shape"]
    if by["violated"]:
        parts.append(f"{', '.join(by['violated'])} not in every statement")
    if by["unknown"]:
        parts.append(f"{', '.join(by['unknown'])} cannot be judged")
    if by["arithmetic"]:
        parts.append(f"{', '.join(by['arithmetic'])} follow from arithmetic alone")
    return "; ".join(parts) + "."
