"""Why requests of a run failed, where it is known, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.samples.contract import LoadResult

SHARE_MAX = 0.01  # of the requests; so many may fail without a word
LENGTH = "length"  # of a result's errors: the body was not as long as expect_bytes
GOAWAY = "GOAWAY"  # of a result's statuses
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
    gone = result.replies.statuses.get(GOAWAY, 0)
    if gone > SHARE_MAX * result.requests:
        yield (
            f"{gone} requests were lost because the server ended their connections (GOAWAY) after "
            "a number of requests; let it take more, with NGINX keepalive_requests 1000000"
        )
