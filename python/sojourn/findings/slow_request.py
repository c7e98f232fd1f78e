"""One of the slowest requests that a tracer saw, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowRequest:
    """A request of the tail.

    Attributes:
        run: key of the point in which it was traced.
        start_unix_ns: when its first segment came in.
        total_ns: from then until the last segment of its reply was sent.
        stages: (name, ns), in the order of a request; what no stage explains is in none.
        thread: id of the thread that read it.
        peer_port: the client's; 0: not known.
    """

    run: str
    start_unix_ns: int
    total_ns: int
    stages: tuple[tuple[str, int], ...]
    thread: int
    peer_port: int
    bytes_in: int
    bytes_out: int
