"""Shares as they are typed: 1% or 0.01."""

from __future__ import annotations

from sojourn.errors import SpecFault

ALPHA_LEAST = 1e-6  # a smaller error rate needs more than anybody measures


def share(
    text: str, option: str, least: float = 0.0, most: float = 10.0, *, takes_least: bool = False
) -> float:
    """A share such as 1% or 0.01, above `least` and below `most`.

    From 1 on it needs its sign, because a gate that allows 500 % instead of 5 % passes anything.

    Args:
        text: as typed.
        option: that it is of.
        least: lower end; it counts as well with `takes_least`.
        most: upper end.
        takes_least: whether `least` itself is allowed.

    Raises:
        SpecFault: it is none.
    """
    try:
        value = float(text.rstrip("% ")) / (100 if text.rstrip().endswith("%") else 1)
    except ValueError:
        value = -1.0
    if 1 <= value < most and "%" not in text:
        raise SpecFault(
            f"{option} is {text!r}, which may mean {value:g} % or {100 * value:g} %",
            at=option,
            fix=f"write the sign: {option} {value:g}%",
        )
    if not (least < value < most or (takes_least and value == least)):
        ends = f"of {least:g} or more" if takes_least else f"above {least:g}"
        raise SpecFault(
            f"{option} is {text!r}, which is no share {ends} and below {most:g}",
            at=option,
            fix=f"give a share such as {option} 1%",
        )
    return value
