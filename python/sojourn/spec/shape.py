"""How the load of a service changes within a run: steps, a flash crowd, a day.

Levels are shares of the point's load, so one shape goes with every load of a study. The generator
has the same forms in requests/s (`rate` of its job); its steps are not repeated, these are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sojourn import units

FLAT = ""
FORMS = "steps:0.5@5s,1.5@5s (again and again), or sine:0.5,60s (1 ± 0.5 of the load)"
STEP_MIN_S = 0.1  # shorter ones are bursts: arrivals = "onoff:10ms,90ms"


def accepted(text: str) -> str:
    """The shape itself.

    Raises:
        ValueError: it has another form.

    >>> accepted("steps:0.5@5s,1.5@5s"), accepted("")
    ('steps:0.5@5s,1.5@5s', '')
    """
    if text != FLAT:
        rate(text, rps=1.0, length_s=0.0)
    return text


def rate(text: str, *, rps: float, length_s: float) -> str:
    """The generator's rate for a point of that load, as long as the run.

    Raises:
        ValueError: the shape has another form.

    >>> rate("", rps=1000, length_s=10)
    '1000'
    >>> rate("steps:0.5@2s,1.5@3s", rps=1000, length_s=6)
    'steps:500@2s,1500@3s,500@2s'
    >>> rate("sine:0.5,60s", rps=1000, length_s=6)
    'sine:1000,500,60s'
    """
    name, _, rest = text.partition(":")
    if text == FLAT:
        return f"{rps:.10g}"
    if name == "steps":
        return _repeated(_steps(rest), rps, length_s)
    if name == "sine":
        depth, period_s = _wave(rest)
        return f"sine:{rps:.10g},{depth * rps:.10g},{period_s:.10g}s"
    raise ValueError(f"'{text}' is no shape of a load; write {FORMS}")


def _steps(rest: str) -> list[tuple[float, float]]:
    """Levels and their lengths in s."""
    steps = []
    for part in rest.split(","):
        level, at, length = part.partition("@")
        length_s = _seconds(length) if at else 0.0
        if not (length_s >= STEP_MIN_S and _is_level(level)):
            raise ValueError(f"'{part}' is no step, LEVEL@LENGTH of 100ms or more; write {FORMS}")
        steps.append((float(level), length_s))
    if not any(level for level, _ in steps):
        raise ValueError(f"no step has any load; write {FORMS}")
    return steps


def _wave(rest: str) -> tuple[float, float]:
    """Depth as a share of the load, and period in s."""
    depth, _, period = rest.partition(",")
    period_s = _seconds(period)
    if not (_is_level(depth) and float(depth) <= 1 and period_s > 0):
        raise ValueError(f"'{rest}' is no DEPTH,PERIOD with a depth from 0 to 1; write {FORMS}")
    return float(depth), period_s


def _is_level(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and 0 <= float(text) <= 1000
    except ValueError:
        return False


def _seconds(text: str) -> float:
    try:
        return units.parse_ns(text) / units.NS_PER_S
    except ValueError:
        return 0.0


def _repeated(steps: Sequence[tuple[float, float]], rps: float, length_s: float) -> str:
    """The cycle again and again until the run ends; once at least."""
    parts: list[str] = []
    at_s = 0.0
    while at_s < length_s or not parts:
        for level, step_s in steps:
            if parts and at_s >= length_s:
                break
            parts.append(f"{level * rps:.10g}@{step_s:.10g}s")
            at_s += step_s
    return "steps:" + ",".join(parts)
