"""What k6's times mean; its three formats share it."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.importers.series import Facts

#: Trends that hold the time of a request, and what each is of.
DURATIONS = {"http_req_duration": "HTTP", "grpc_req_duration": "gRPC"}
MS = 1e6  # all times are ms

FACTS = Facts(
    tool="k6",
    clock="send",
    loop="not known",
    start="Measured from the send of a request to the last byte of the reply; the wait for a "
    "connection, its set-up and TLS are not in it.",
    load="A closed loop, unless an arrival-rate executor ran; the file does not say which. Even "
    "then, iterations without a free VU are dropped, not late.",
    merged="All VUs of this process are in one file; another instance has a file of its own, and "
    "percentiles of several files must not be averaged.",
    omission="Coordinated omission is in it: requests that a stop of the server put off are "
    "missing, because k6 had not begun them.",
)


def lacking(seen: set[str]) -> str:
    """What is wrong with a file without a request."""
    others = ", ".join(sorted(seen)[:6]) or "nothing"
    return f"it has no {' or '.join(DURATIONS)}; its metrics: {others}"


def reason(tags: Mapping[str, object]) -> str:
    """Why a request failed, by the tags that k6 gave its sample."""
    code, status = tags.get("error_code"), tags.get("status")
    return f"error {code}" if status in {None, "", "0"} else f"status {status}"
