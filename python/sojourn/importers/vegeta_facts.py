"""What vegeta's times mean; its formats share it."""

from __future__ import annotations

from sojourn.importers.file import is_success
from sojourn.importers.groups import ALL, Groups
from sojourn.importers.series import Facts, Series

FACTS = Facts(
    tool="vegeta",
    clock="send",
    loop="open, limited",
    start="Measured from the moment at which a worker takes the request, which is not when it was "
    "due.",
    load="An open loop at a constant rate: if all workers wait, one more is made, up to "
    "-max-workers; beyond it the load is put off and no number shows it.",
    merged="All workers write into one result; results of several machines can be joined, because "
    "each request is in them.",
    omission="A stop of the server is in the numbers; a stop of vegeta itself is not.",
)


def reason(code: int, error: str) -> str:
    """Why a request failed; "" if it did not (vegeta's own rule)."""
    if is_success(str(code)) and not error:
        return ""
    return f"status {code}" if code else f"error: {error[:60] or 'unknown'}"


def series_of(attacks: Groups, at: str) -> list[Series]:
    """A series for each attack of a file, and of several one of all.

    Raises:
        SpecFault: there is not one request.
    """
    parts = attacks.parts()
    together = ("Requests of all attacks are together in it.",)
    return [
        one.series(
            FACTS,
            at=at,
            name=(name or "unnamed") if len(parts) > 1 else "",
            notes=together if name == ALL else (),
        )
        for name, one in parts
    ]
