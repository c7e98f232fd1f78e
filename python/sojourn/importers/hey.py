"""`hey -o csv`: a row for each reply, times in seconds with four digits."""

from __future__ import annotations

from sojourn.importers.file import File, is_success, number, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.requests import Requests
from sojourn.importers.series import Facts, Series
from sojourn.importers.tables import rows_of

FACTS = Facts(
    tool="hey",
    clock="send",
    loop="closed",
    start="Measured from the begin of a request; the set-up of its connection is in it.",
    load="A closed loop of workers; -q limits the rate of each.",
    merged="All workers are in one list. Times are rounded to 0.1 ms.",
    omission="Coordinated omission is in it: while all workers wait, nothing is sent. Requests "
    "without a reply are not in the file.",
)
_S, _HALF_NS = 1e9, 50_000.0
ROWS_MOST = 1_000_000  # hey lists no more replies; `maxRes` in its requester/report.go


def is_it(head: str) -> bool:
    """Whether the head of the table is hey's."""
    return head.startswith("response-time,DNS+dialup,")


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are seconds
    """One series of all its requests."""
    requests = Requests()
    for at, row in rows_of(file, ("response-time", "status-code", "offset")):
        ns = time_ns(row["response-time"], "response-time", at, unit_ns=_S)
        start_s = number(row["offset"], "offset", at)
        if is_success(row["status-code"]):
            requests.add(start_s, ns, at)
        else:
            requests.fail(f"status {row['status-code']}", start_s, ns)
    rows = requests.count + sum(requests.failed.values())
    note = f"hey lists at most {ROWS_MOST:,} replies: of later ones nothing is in the file."
    notes = (note,) if rows >= ROWS_MOST else ()
    return [
        requests.series(FACTS, at=file.at, half_ns=_HALF_NS, is_failed_known=False, notes=notes)
    ]


FORMAT = Format(name="hey", about="hey -o csv", is_it=is_it, read=read)
