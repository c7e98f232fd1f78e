"""The change that so many blocks show, in words: of a comparison and of a gate."""

from __future__ import annotations

MAX_RPS = "max RPS"  # as the answer names it; worse is less


def either(number: str, change: float | None) -> str:
    """What a comparison sees, which is worse or better.

    Args:
        number: as the answer names it.
        change: as a share; None: nothing is seen.

    >>> either("p99", 0.12), either("p99", None)
    ('p99 ±12%', 'p99: nothing')
    """
    return f"{number} ±{change:.0%}" if change else f"{number}: nothing"


def worse(number: str, change: float | None) -> str:
    """What a gate sees, which never alarms at what is better.

    Args:
        number: as the answer names it.
        change: of the ratio that is above 1 where it is worse, as a share; None: nothing is seen.

    >>> worse("p99", 0.12), worse("p99", 0.035), worse("max RPS", 0.12), worse("p99", None)
    ('p99 +12%', 'p99 +3.5%', 'max RPS -10.7%', 'p99: nothing')
    """
    if not change:
        return f"{number}: nothing"
    if number == MAX_RPS:
        return f"{number} -{100 * (1 - 1 / (1 + change)):.3g}%"
    return f"{number} +{100 * change:.4g}%"


def gate(margin: float) -> str:
    """A gate, by the share that it allows.

    >>> gate(0.05)
    'a gate with a limit of 5%'
    """
    return f"a gate with a limit of {100 * margin:.4g}%"
