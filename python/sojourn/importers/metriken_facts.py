"""What times of a metriken recording mean, by the program that measured them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sojourn.importers.series import Facts

CACHECANNON = Facts(
    tool="cachecannon",
    clock="send",
    loop="closed",
    start="Measured from the send of a request to its parsed reply.",
    load="A closed loop with a fixed number of requests under way. With a rate limit all "
    "connections take from one bucket, and a late request is in no time of this series.",
    merged="All threads count into one histogram; its bins are 0.8 % wide. Requests between the "
    "first and the last snapshot count, so up to one interval is missing.",
    omission="Coordinated omission is in it. `perceived_latency` adds the wait for the bucket.",
)
PERCEIVED = replace(
    CACHECANNON,
    clock="intended, roughly",
    loop="closed, or open, limited",
    start="Measured from the send, plus the backlog of the rate limit at the time of the reply: "
    "cachecannon does not know when this request was due. Without a limit nothing is added.",
    load="Requests are due at the rate limit; what the bucket cannot hold is dropped, not late.",
    omission="A stop of the server is in the numbers as far as the bucket holds it.",
)
REZOLUS = Facts(
    tool="rezolus",
    clock="kernel event",
    loop="not a load",
    start="Measured in the kernel between two events, such as a wake-up and its switch-in. It is "
    "no time of a request: one request may have many of them, or none.",
    load="Whatever ran on the machine; rezolus makes no load.",
    merged="All CPUs and tasks count into one histogram; its bins are up to 12.5 % wide.",
    omission="Every event between the first and the last snapshot counts, unless rezolus lost it.",
)
OTHER = Facts(
    tool="rezolus",
    clock="not known",
    loop="not known",
    start="From when times were measured, the recording does not say: its program knows.",
    load="What made the load, the recording does not say.",
    merged="Whatever counts into the program's histogram, between the first and last snapshot.",
    omission="Whether coordinated omission is in it, the recording does not say.",
)
ALL_REQUESTS = ("response_latency", "perceived_latency")  # of every request, whatever it asks for
#: Histograms of cachecannon that hold times of requests, most asked for first.
REQUESTS = (
    *ALL_REQUESTS,
    "get_latency",
    "set_latency",
    "delete_latency",
    "backfill_set_latency",
    "get_ttfb",
)
_KERNEL = ("scheduler_", "tcp_", "softirq", "blockio_", "syscall_")  # nearest to a tail first
_OWN_KEYS = {
    "metric", "metric_type", "unit", "source", "grouping_power", "max_value_power", "description",
    "endpoint",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Named:
    """What a histogram is of, from what is written about its column."""

    metric: str
    source: str
    labels: tuple[str, ...]

    @property
    def facts(self) -> Facts:
        """What its times mean, by the program that measured them."""
        if self.source == "cachecannon":
            return PERCEIVED if self.metric == "perceived_latency" else CACHECANNON
        return REZOLUS if self.source == "rezolus" else OTHER

    @property
    def has_all_requests(self) -> bool:
        """Whether it is of every request, as cachecannon's count of errors is."""
        return self.source == "cachecannon" and self.metric in ALL_REQUESTS

    @property
    def title(self) -> str:
        """What the series is called, such as `syscall_latency/read`."""
        return "/".join((self.metric, *self.labels))[:120]

    @property
    def order(self) -> tuple[int, int]:
        """Where it comes: requests of a load first."""
        if self.source == "cachecannon" and self.metric in REQUESTS:
            return 0, REQUESTS.index(self.metric)
        if self.source != "rezolus":
            return 1, 0
        return 2, next((n for n, word in enumerate(_KERNEL) if self.metric.startswith(word)), 9)


def named(about: Mapping[str, str], source: str) -> Named | None:
    """What a column is; None if it holds no times of a histogram.

    >>> named({"metric_type": "counter", "metric": "bytes_rx"}, "cachecannon") is None
    True
    """
    metric, source = about.get("metric", ""), about.get("source", source)
    is_time = about.get("unit") in {"nanoseconds", "ns"} or (
        source == "cachecannon" and metric in REQUESTS
    )
    if about.get("metric_type") != "histogram" or not metric or not is_time:
        return None
    labels = tuple(text[:40] for key, text in sorted(about.items()) if key not in _OWN_KEYS)
    return Named(metric, source, labels)
