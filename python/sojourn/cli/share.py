"""Shares as they are typed: 1% or 0.01."""

from __future__ import annotations

from sojourn.errors import SpecFault

ALPHA_LEAST = 1e-6  # a smaller error rate needs more than anybody measures


def share(
    text: str, option: str, least: float = 0.0, most: float = 10.0, *, takes_least: bool = False
) -> float:
    """A share such as 1% or 0.01, above `least` and below `most`.

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
    if not (least < value < most or (takes_least and value == least)):
        ends = f"of {least:g} or more" if takes_least else f"above {least:g}"
        raise SpecFault(
            f"{option} is {text!r}, which is no share {ends} and below {most:g}",
            at=option,
            fix=f"give a share such as {option} 1%",
        )
    return value
