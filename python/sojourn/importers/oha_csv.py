"""`oha --output-format csv`: a row for each reply, times in seconds."""

from __future__ import annotations

from dataclasses import replace

from sojourn.importers.file import File, is_success, number, time_ns
from sojourn.importers.format import Format, Options
from sojourn.importers.oha_facts import FACTS
from sojourn.importers.requests import Requests
from sojourn.importers.series import Series
from sojourn.importers.tables import rows_of

_S = 1e9
_CSV = replace(
    FACTS,
    merged="All connections are in one list.",
    omission="Coordinated omission is in it unless --latency-correction was given. Requests "
    "without a reply are not in the file.",
)


def is_it(head: str) -> bool:
    """Whether the head of the table is oha's."""
    return head.startswith("request-start,DNS,")


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - times are seconds
    """One series of all its requests."""
    requests = Requests()
    for at, row in rows_of(file, ("request-start", "request-duration", "status")):
        ns = time_ns(row["request-duration"], "request-duration", at, unit_ns=_S)
        start_s = number(row["request-start"], "request-start", at)
        if is_success(row["status"]):
            requests.add(start_s, ns, at)
        else:
            requests.fail(f"status {row['status']}", start_s, ns)
    return [requests.series(_CSV, at=file.at, is_failed_known=False)]


FORMAT = Format(name="oha-csv", about="oha --output-format csv", is_it=is_it, read=read)
