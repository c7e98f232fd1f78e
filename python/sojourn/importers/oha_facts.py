"""What oha's times mean; its three formats share it."""

from __future__ import annotations

from sojourn.importers.groups import by_reason
from sojourn.importers.series import Facts

FACTS = Facts(
    tool="oha",
    clock="not known",
    loop="not known",
    start="Measured from the send of a request, or from when it was due if --latency-correction "
    "was given with -q; the file does not say which.",
    load="A closed loop of connections (-c). With -q requests are due at a constant rate, and one "
    "that is due while all connections wait is put off; the file does not say whether.",
    merged="All connections are in one list, from which oha takes its percentiles.",
    omission="Coordinated omission is in it unless --latency-correction was given. Requests "
    "without a reply are in no time.",
)
#: What oha calls a request that the end of the run (-z) cut off, which is no fault of the server.
CUT_OFF = "aborted due to deadline"
MIXED = "The times of replies with another status are in its percentiles."


def reasons(
    statuses: dict[str, int], errors: dict[str, int], *, passed: tuple[str, ...]
) -> dict[str, int]:
    """Failed requests by reason, those left out that the end of the run cut off."""
    bad = [(f"status {code}", n) for code, n in statuses.items() if code not in passed]
    return by_reason([*bad, *(pair for pair in errors.items() if pair[0] != CUT_OFF)])


def cut_off(errors: dict[str, int]) -> tuple[str, ...]:
    """A note on requests without an end, if there are any."""
    n = errors.get(CUT_OFF, 0)
    if not n:
        return ()
    return (f"{n:,} requests were under way when the run ended; oha has no time of them.",)
