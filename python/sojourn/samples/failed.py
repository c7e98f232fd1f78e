"""Why requests of a run failed, where it is known, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it needs numpy, which a plan does not
    from sojourn.samples.contract import LoadResult

SHARE_MAX = 0.01  # of the requests; so many may fail without a word
LENGTH = "length"  # of a result's errors: the body was not as long as expect_bytes
LIMIT = "limit"  # as the reason begins that names who sets the highest rate
LIMITED = "rate limit"  # as the reason begins where a limiter refused requests
WAITED = ("timed_out", "pending", "unsent", "unanswered")  # of a result's errors
STATUS = "status"  # of a result's errors
GOAWAY = "GOAWAY"  # of a result's statuses
#: Statuses by which a service says that this client sent too many requests (RFC 6585, 4; gRPC).
TOO_MANY = ("HTTP 429", "RESOURCE_EXHAUSTED")
#: Statuses by which a service, or a proxy before it, says that it takes no more requests now.
#: Source: RFC 9110, 15.6.4; RFC 9113, 7; gRPC, Status codes and their use in gRPC.
BUSY = (
    "HTTP 503",
    "UNAVAILABLE",
    "RST_STREAM REFUSED_STREAM",
    "RST_STREAM ENHANCE_YOUR_CALM",
)
REPLIES = "replies: "  # as the generator's reason begins, which cannot know who gave expect_bytes


def reasons(result: LoadResult, reports: tuple[str, ...]) -> tuple[str, ...]:
    """A run's reasons, the known causes of failed requests first.

    Args:
        result: of the generator.
        reports: reasons so far.
    """
    known = tuple(_known(result))
    is_known = any(GOAWAY not in text for text in known)
    rest = (why for why in reports if not (is_known and why.startswith(REPLIES)))
    return (*known, *rest)


def refused(result: LoadResult) -> dict[str, int]:
    """Requests that the service took no more of, by status, the most frequent first.

    Statuses are counted in the warm-up as well, so their sum is cut to what failed with a status in
    the measured part.
    """
    statuses = result.replies.statuses
    counts = {name: statuses[name] for name in (*TOO_MANY, *BUSY) if statuses.get(name)}
    rest, results = result.errors.get(STATUS, 0), {}
    for name, count in sorted(counts.items(), key=lambda one: -one[1]):
        results[name] = min(count, rest)
        rest -= results[name]
    return {name: count for name, count in results.items() if count}


def without_a_wait(result: LoadResult) -> int:
    """Lost requests that no stop or late client explains: refused, cut off, answered wrongly.

    A request that was given up or had no turn may have waited for a CPU. One with a wrong end has
    not, so it is the service's own miss, whatever else ran on the machine.
    """
    lost = result.sojourn_ns.lost
    return lost - min(lost, sum(result.errors.get(name, 0) for name in WAITED))


def _known(result: LoadResult) -> Iterator[str]:
    lengths = result.errors.get(LENGTH, 0)
    wanted = int(result.job.get("expect_bytes") or 0)
    if wanted and lengths > SHARE_MAX * result.requests:
        share = lengths / result.requests
        yield (
            f"{share:.0%} of the replies were not {wanted} bytes long, as the first ones were; "
            "if their length may change, take any: sojourn try --any-length, in a study "
            "params.expect_bytes = 0"
        )
    limited = [(name, result.replies.statuses.get(name, 0)) for name in TOO_MANY]
    name, count = max(limited, key=lambda one: one[1])
    count = min(count, result.errors.get(STATUS, 0))  # the former are of the warm-up as well
    if result.replies.count and count > SHARE_MAX * result.requests:  # else it may never serve it
        yield (
            f"{LIMITED}: the service refused {count / result.requests:.0%} of the requests with "
            f"{name}, so its limit decides, and not what it can do; raise the limit for this client"
        )
    gone = result.replies.statuses.get(GOAWAY, 0)
    if gone > SHARE_MAX * result.requests:
        yield (
            f"{gone} requests were lost because the server ended their connections (GOAWAY) after "
            "a number of requests; let it take more, with NGINX keepalive_requests 1000000"
        )
