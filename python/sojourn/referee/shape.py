"""How requests arrived: Poisson, paced or clumped, by a test.

In a Poisson process the number of arrivals in a window has a variance as large as its mean. So the
index of dispersion I (variance by mean over k windows) has (k − 1) I ~ χ² with k − 1 degrees of
freedom. It is taken at three lengths of windows, because batches show in short windows and a rate
that changes shows in long ones. Poisson is refused where I is significantly off 1 at any length, at
`ALPHA` for all lengths together, *and* differs by more than `MARGIN`. With enough requests a
trace of timers would else be significant. A simulation in `shape_test.py` counts the errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sojourn.referee.requests import Times
from sojourn.stats.method import Method

METHOD = Method(
    name="shape",
    about="whether arrivals are Poisson, paced or clumped: dispersion of counts at three lengths",
    ids=("M1",),
    source="Cox and Lewis, The Statistical Analysis of Series of Events (1966), section 6.3",
)

ALPHA = 0.01  # chance that a Poisson process is called anything else
MARGIN = 1.25  # a dispersion of 0.8 to 1.25 is as good as Poisson for queues
MEANS = (2, 16, 128)  # arrivals in a window, on average
WINDOWS_MIN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The dispersion at one length of windows.

    Attributes:
        window_ns: length.
        windows: how many.
        dispersion: variance by mean; 1 in a Poisson process, 0 of a metronome.
        lo, hi: its interval, `ALPHA` over all lengths together.
        kind: "poisson", "even", "clumped", or "unclear".
    """

    window_ns: int
    windows: int
    dispersion: float
    lo: float
    hi: float
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How requests arrived.

    Attributes:
        kind: "poisson", "paced", "clumped", "uneven", "mixed" or "unclear".
        scales: what it rests on, shortest windows first.
    """

    kind: str
    scales: tuple[Scale, ...]


def shape(pieces: list[Times]) -> Shape:
    """The shape of arrivals.

    Args:
        pieces: times of arrivals, ns, ascending; each piece is free of stops of the server.
    """
    total = sum(max(0, len(piece) - 1) for piece in pieces)
    span = sum(int(piece[-1] - piece[0]) for piece in pieces if len(piece))
    if total < 1 or span <= 0:
        return Shape(kind="unclear", scales=())
    measured = [_scale(pieces, round(mean * span / total)) for mean in MEANS]
    scales = tuple(one for one in measured if one is not None)
    return Shape(kind=_kind([one.kind for one in scales]), scales=scales)


def _scale(pieces: list[Times], window_ns: int) -> Scale | None:
    """None with too few windows."""
    if window_ns < 1:
        return None
    counts = np.concatenate([_counts(piece, window_ns) for piece in pieces])
    if len(counts) < WINDOWS_MIN or not counts.any():
        return None
    from scipy.stats import chi2  # noqa: PLC0415 - takes 0.5 s to load

    freedom = len(counts) - 1
    dispersion = float(counts.var(ddof=1) / counts.mean())
    tail = ALPHA / len(MEANS) / 2
    lo = freedom * dispersion / float(chi2.isf(tail, freedom))
    hi = freedom * dispersion / float(chi2.ppf(tail, freedom))
    return Scale(
        window_ns=window_ns,
        windows=len(counts),
        dispersion=dispersion,
        lo=lo,
        hi=hi,
        kind=_kind_of(dispersion, lo, hi),
    )


def _counts(piece: Times, window_ns: int) -> Times:
    """Arrivals in each whole window of a piece."""
    if len(piece) < 2:
        return np.empty(0, np.int64)
    windows = int((piece[-1] - piece[0]) // window_ns)
    at = (piece - piece[0]) // window_ns
    return np.asarray(np.bincount(at[at < windows], minlength=windows), np.int64)


def _kind_of(dispersion: float, lo: float, hi: float) -> str:
    if hi < 1 and dispersion < 1 / MARGIN:
        return "even"
    if lo > 1 and dispersion > MARGIN:
        return "clumped"
    return "poisson" if lo > 0.5 and hi < 2 else "unclear"


def _kind(kinds: list[str]) -> str:
    """One word for all lengths."""
    clear = [kind for kind in kinds if kind != "unclear"]
    if not clear:
        return "unclear"
    if set(clear) == {"poisson"}:
        return "poisson"
    if "clumped" not in clear:
        return "paced"  # perhaps Poisson in the short: many paced connections side by side
    if clear[0] == "clumped":
        return "clumped"
    return "uneven" if "even" not in clear else "mixed"
