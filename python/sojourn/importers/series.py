"""What another load tool measured, in the lab's terms, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sojourn.stats.times import Times

PAGE = "docs/howto/open.md"  # each tool has a section there


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a tool's number means, and what the tool cannot know.

    Attributes:
        tool: its name, also that of its section in `PAGE`.
        clock: when its stopwatch starts, in a word or two: "send", "intended", "not known".
        loop: "closed", "open", or "not known".
        start: the same in a sentence.
        load: what makes the tool send the next request, in a sentence.
        merged: how the numbers of its threads or connections come together, in a sentence.
        omission: whether a stop of the server is in the numbers, in a sentence.
    """

    tool: str
    clock: str
    loop: str
    start: str
    load: str
    merged: str
    omission: str

    @property
    def sentences(self) -> tuple[str, str, str, str]:
        """All of it, in reading order."""
        return (self.start, self.load, self.merged, self.omission)

    @property
    def page(self) -> str:
        """Where the documentation says more."""
        return f"{PAGE}#{self.tool.lower().replace(' ', '-')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One set of requests: a whole file, or one kind of operation in it.

    Attributes:
        name: what is apart from the others in the file; "" for the only one.
        times: of the requests that succeeded; None if the file has no more than quantiles.
        slices: the same in order of time, cut in pieces; () if the order is not known.
        stated: what the tool itself printed: quantile, or None for the mean, to ns.
        requests: that succeeded; None if the file does not say.
        stated_over: requests in what the tool printed, failed ones too; None: `requests`.
        failed: how many by reason; none of them is in `times`, unless `facts` says so.
        is_failed_known: the file counts all that failed; else more may have than are in `failed`.
        seconds: length of the run; None if the file does not say.
        rate_rps: as the tool stated it; None: requests by seconds.
        most_ns: the longest; None if the file does not say.
        notes: what else a reader must know, in sentences.
    """

    facts: Facts
    name: str = ""
    times: Times | None = None
    slices: tuple[Times, ...] = ()
    stated: Mapping[float | None, float] = field(default_factory=dict)
    requests: int | None = None
    stated_over: int | None = None
    failed: Mapping[str, int] = field(default_factory=dict)
    is_failed_known: bool = True
    seconds: float | None = None
    rate_rps: float | None = None
    most_ns: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def rate(self) -> float | None:
        """Requests/s that succeeded, as stated or computed."""
        if self.rate_rps is not None:
            return self.rate_rps
        return self.requests / self.seconds if self.requests and self.seconds else None
