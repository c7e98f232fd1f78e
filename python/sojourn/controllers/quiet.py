"""Quiet nights: whether the target of a service with few requests holds.

One window says that without doubt from some 830 requests on, none of which is late. A service at
night may have fewer in 15 s, or none at all. So its longest windows since the last change add up,
without overlaps. After `quiet_s` they count as calm if none of their requests was late, or if the
share of late ones is small enough without doubt. Where there is no request, no target is missed.

Source: of this lab.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.controllers.evidence import Late, enough
from sojourn.controllers.look import History, Window

State = Mapping[str, Any]


def added(history: History, name: str) -> State:
    """What is noted of a service, with its longest window if that is new.

    `is_calm` is what the last `quiet_s` said. It lasts until the next ones are over, a late request
    comes, or there are so many requests that one window says enough.
    """
    now, since_s = history.now, float(history.memory["since"])
    noted: State | None = history.memory.get("quiet", {}).get(name)
    if noted is None or noted["since"] != since_s:
        noted = _begun(since_s, since_s)
    window = max(now.groups[name].windows, key=lambda one: one.length_ms, default=None)
    if window is None:
        return noted
    end_s, length_s = now.t_s - window.age_ms / 1000, window.length_ms / 1000
    if not _is_quiet(window, history.constants):
        return _begun(since_s, end_s)
    is_calm = bool(noted["is_calm"]) and not window.above
    if end_s - length_s < float(noted["end"]) - 1e-6:
        return {**noted, "is_calm": is_calm}
    late, covered_s = Late.of_json(noted).plus(window), float(noted["s"]) + length_s
    if covered_s < history.constants["quiet_s"]:
        return {**noted, **late.as_json(), "end": end_s, "s": covered_s, "is_calm": is_calm}
    return {**_begun(since_s, end_s), "is_calm": _is_calm(late, history.constants)}


def _begun(since_s: float, end_s: float) -> State:
    """Nothing is known after `end_s`."""
    return {"since": since_s, "end": end_s, "s": 0.0, "is_calm": False, **Late().as_json()}


def _is_quiet(window: Window, c: Mapping[str, float]) -> bool:
    """Whether late requests are counted, and too few came to say that the target holds."""
    is_counted = window.above is not None or not window.n
    return is_counted and window.n < enough(c["late"], c["fine"])


def _is_calm(late: Late, c: Mapping[str, float]) -> bool:
    return not late.above or late.probability(c["late"]) <= c["fine"]
