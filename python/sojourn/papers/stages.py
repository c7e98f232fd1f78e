"""The papers' stage tables beside ours: L12 (µs), C8 and C9 (µs; the caption's ms is wrong, D1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sojourn.plan import traced


class Column(Protocol):
    """What a column of stages says that was measured here: times in ns."""

    @property
    def name(self) -> str:
        """How the condition is called."""

    @property
    def neighbour(self) -> str:
        """Neighbour that ran beside the service."""

    @property
    def is_alone(self) -> bool:
        """Whether there was one request at a time."""

    @property
    def fraction(self) -> float:
        """Load as a share of max RPS."""

    @property
    def stages(self) -> Sequence[tuple[str, float]]:
        """Each stage with its mean time."""

    @property
    def mean_ns(self) -> float | None:
        """Mean time of the whole request."""

    @property
    def residual_ns(self) -> float | None:
        """Mean time that no stage has."""


Row = tuple[str, str, str, str]
Under = tuple[str, str, bool]  # for people; neighbour; whether there is one request at a time

UNLOADED: Under = ("unloaded", traced.NO_NEIGHBOUR, True)
CONTEXT_SWITCH: Under = ("context switch", traced.SPIN, True)
LOADED: Under = ("loaded", traced.NO_NEIGHBOUR, False)
INTERFERENCE: Under = ("interference", traced.STREAM, False)

# Each paper's stages as sums of ours.
_L = {
    "RX": ("RX",),
    "TCP/IP": ("TCP/IP",),
    "EPoll": ("EPoll",),
    "libevent": ("libevent",),
    "Read": ("Read",),
    "memcached": ("application", "Open"),
    "Write": ("Send",),
}
_C = {
    "Network": ("RX", "TCP/IP"),
    "Epoll": ("EPoll",),
    "Libevent": ("libevent",),
    "Read": ("Read",),
    "Memcached": ("application", "Open"),
    "Send": ("Send",),
}
_N = {**_C, "Open": ("Open",), "NGINX": ("application",)}
_N.pop("Memcached")

# Service, id, names, what it is measured under, load, and the paper's means in the order of its
# stages, then its total, µs. The totals are as printed: they are a little more than the sums (D2).
Values = tuple[float, ...]
TABLES: tuple[tuple[str, str, Mapping[str, tuple[str, ...]], Under, float | None, Values], ...] = (
    ("memcached", "L12", _L, UNLOADED, None, (0.9, 4.7, 3.9, 2.4, 2.5, 2.5, 4.6, 21.5)),
    ("memcached", "L12", _L, CONTEXT_SWITCH, None, (0.8, 4.4, 3.1, 2.3, 2.1, 2.0, 3.9, 18.7)),
    ("memcached", "L12", _L, LOADED, 1.0, (1, 4, 2778, 3074, 5, 2, 4, 5872)),
    ("memcached", "L12", _L, INTERFERENCE, None, (1, 4, 3780, 4545, 7, 4, 5, 8349)),
    ("memcached", "C8", _C, LOADED, 0.1, (6, 3, 1, 1, 1, 5, 20)),
    ("memcached", "C8", _C, LOADED, 0.9, (6, 782, 1009, 3, 1, 5, 1806)),
    (
        "nginx",
        "C9",
        {k: _N[k] for k in ("Network", "Epoll", "Libevent", "Read", "Open", "NGINX", "Send")},
        LOADED,
        0.1,
        (9, 13, 11, 1, 4, 12, 26, 76),
    ),
    (
        "nginx",
        "C9",
        {k: _N[k] for k in ("Network", "Epoll", "Libevent", "Read", "Open", "NGINX", "Send")},
        LOADED,
        0.95,
        (10, 10230, 23186, 3, 4, 12, 26, 33471),
    ),
)


def rows(kind: str, columns: Sequence[Column]) -> tuple[Row, ...]:
    """A row per column of the papers that was measured here too, at the nearest load."""
    results: list[Row] = []
    for service, source, names, under, load, values in TABLES:
        column = _nearest(columns, under, load)
        if service != kind or column is None:
            continue
        at = "" if load is None else f" at {100 * load:.0f} %"
        ours = " · ".join(f"{name} {_us(_sum(column, parts))}" for name, parts in names.items())
        others = " · ".join(f"{n} {v:g}" for n, v in zip(names, values, strict=False))
        what = f"stages {under[0]}{at}, mean µs"
        sums = f"residual {_us(column.residual_ns)} · total {_us(column.mean_ns)} ({column.name})"
        results.append((what, f"{others} · total {values[-1]:g}", f"{ours} · {sums}", source))
    return tuple(results)


def _nearest(columns: Sequence[Column], under: Under, load: float | None) -> Column | None:
    """The measured column under the same; a load has to lie within 10 points of the paper's."""
    _, *wanted = under
    known = [c for c in columns if [c.neighbour, c.is_alone] == wanted and c.stages]
    if load is None:
        return known[0] if known else None
    near = min(known, key=lambda c: abs(c.fraction - load), default=None)
    return near if near is not None and abs(near.fraction - load) <= 0.1 else None


def _sum(column: Column, parts: Sequence[str]) -> float:
    """Run-queue delay in later stages is booked to EPoll: it is scheduling wherever it strikes."""
    return sum(ns for name, ns in column.stages if name in parts)


def _us(ns: float | None) -> str:
    return "–" if ns is None else f"{ns / 1000:.3g}" if ns < 1e6 else f"{ns / 1000:.0f}"
