"""What services do to each other, in words."""

from __future__ import annotations

from sojourn.questions.together.meetings import Met
from sojourn.text.numbers import load_share
from sojourn.units import show_ns


def in_words(colocated: Met) -> str:
    """What the others do to it, in a sentence."""
    others = " and ".join(f"{label} at {load_share(share)}" for label, share in colocated.beside)
    under = f" with {colocated.under}" if colocated.under else ""
    where = (
        f"Beside {others}, p99 of {colocated.service} at {load_share(colocated.fraction)}{under}"
    )
    lost = (
        f" It misses {colocated.lost_target}, which it meets alone."
        if colocated.lost_target
        else ""
    )
    if colocated.ratio is None or colocated.lo is None or colocated.hi is None:
        return f"{where} cannot be compared with p99 alone.{lost}"
    interval = f"({colocated.lo:.2g} to {colocated.hi:.2g} times, 95 % interval)"
    if colocated.lo <= 1 <= colocated.hi:
        same = f"{where} is {colocated.ratio:.2g} times that alone {interval}"
        return f"{same}: no difference was shown.{lost}"
    assert colocated.p99_ns is not None  # noqa: S101  # it has a ratio
    assert colocated.alone_ns is not None  # noqa: S101
    longer = "as long as" if colocated.ratio > 1 else "as long only as"
    return (
        f"{where} is {colocated.ratio:.2g} times {longer} alone {interval}: "
        f"{show_ns(colocated.p99_ns)} instead of {show_ns(colocated.alone_ns)}"
        + (
            f", so it misses {colocated.lost_target}, which it meets alone."
            if colocated.lost_target
            else "."
        )
    )


def missed(colocated: Met) -> str:
    """A sentence where the others cost it its QoS target; else an empty one."""
    if not colocated.lost_target:
        return ""
    others = " and ".join(f"{label} at {load_share(share)}" for label, share in colocated.beside)
    under = f"With {colocated.under}, " if colocated.under else ""
    who = f"{under}{colocated.service} at {load_share(colocated.fraction)}"
    return f"{who} misses {colocated.lost_target} beside {others}, which it meets alone."
