"""What k6's times mean; its three formats share it."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.importers.file import is_success
from sojourn.importers.series import Facts

GRPC = "grpc_req_duration"
#: Trends that hold the time of a request, and what each is of.
DURATIONS = {"http_req_duration": "HTTP", GRPC: "gRPC"}
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


def failure(metric: str, tags: Mapping[str, object]) -> str | None:
    """Why a request failed, by the tags of its sample.

    Returns:
        "" for one that succeeded; None if no tag says whether it did (`--system-tags`).
    """
    status, error = _text(tags, "status"), _text(tags, "error_code")
    expected = _text(tags, "expected_response")
    is_bad: bool | None = None
    if metric == GRPC:  # has a numeric status alone, of which 0 is OK
        is_bad = status != "0" if status else None
    elif expected:  # since 0.31, for each reply
        is_bad = expected == "false"
    elif status or error:
        is_bad = bool(error) or not is_success(status)
    if not is_bad:
        return None if is_bad is None else ""
    if metric != GRPC and (status in {"", "0"} or (error and is_success(status))):
        return f"error {error or 'unknown'}"
    return f"status {status}"


def _text(tags: Mapping[str, object], name: str) -> str:
    value = tags.get(name)
    return value if isinstance(value, str) else ""


def dropped(iterations: float) -> tuple[str, ...]:
    """A note on iterations that k6 did not begin, if there are any."""
    if not iterations:
        return ()
    return (f"k6 dropped {iterations:.0f} iterations, because no VU was free.",)
