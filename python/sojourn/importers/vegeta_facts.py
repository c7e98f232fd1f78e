"""What vegeta's times mean; its formats share it."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.importers.file import is_success
from sojourn.importers.groups import ALL, OTHERS, Groups
from sojourn.importers.series import Facts, Series

FACTS = Facts(
    tool="vegeta",
    clock="send",
    loop="open, limited, or closed",
    start="Measured from the moment at which a worker takes the request, which is not when it was "
    "due.",
    load="An open loop at a constant rate: if all workers wait, one more is made, up to "
    "-max-workers; beyond it the load is put off and no number shows it. With -rate 0 a closed "
    "loop of these workers; the file does not say which.",
    merged="All workers write into one result; results of several machines can be joined, because "
    "each request is in them.",
    omission="A stop of the server is in the numbers, unless -rate 0 was given; a stop of vegeta "
    "itself is not.",
)


TOGETHER = ("Requests of all attacks are together in it.",)
FIRST = "0"  # the number of an attack's first request


def reason(code: int, error: str) -> str:
    """Why a request failed; "" if it did not (vegeta's own rule)."""
    if is_success(str(code)) and not error:
        return ""
    return f"status {code}" if code else f"error: {error[:60] or 'unknown'}"


def series_of(attacks: Groups, begun: Mapping[int, int], at: str) -> list[Series]:
    """A series for each attack of a file, and of several one of all.

    Args:
        attacks: requests by the name of their attack.
        begun: of each of these by its id, how many requests have the number FIRST.
        at: the file.

    Raises:
        SpecFault: there is not one request.
    """
    parts = attacks.parts()
    return [
        one.series(
            FACTS,
            at=at,
            name=(name or "unnamed") if len(parts) > 1 else "",
            notes=TOGETHER if name in (ALL, OTHERS) else _same_name(begun.get(id(one), 0)),
        )
        for name, one in parts
    ]


def _same_name(attacks: int) -> tuple[str, ...]:
    """What to know of several attacks of one name, at one time or one after another."""
    if attacks < 2:
        return ()
    return (
        f"{attacks} attacks of one name are together in it; give each a -name to see them apart.",
        "Its rate is over all the time from the first request to the last, with what lay between.",
    )
