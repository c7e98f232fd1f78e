"""How long a request of a study may take, and how long the last ones are waited for."""

from __future__ import annotations

from typing import Any

from sojourn import units
from sojourn.spec import ServiceSpec

TIMEOUT_S_MIN = 1.0
TIMEOUT_BOUNDS = 10.0  # of a request: so many times the bound, to see how far beyond it it gets
DRAIN_S = 2.0  # the generator's own
DRAIN_BOUNDS = 2.0  # after the last request: what comes later has missed the bound


def keys(spec: ServiceSpec, reply_s: float, bound_s: float = 0.0) -> dict[str, Any]:
    """The generator's `timeout` and `drain`: they follow the bound and the first replies.

    Where the study gives a timeout, the last replies are waited for as long as it says.

    Its own timeout is ten times the bound alone. A study asks how far latency grows beyond it, and
    a server that was stopped for some milliseconds shall not have to open all connections again.

    Args:
        spec: of the service; what its `load` says otherwise comes after these keys.
        reply_s: how long a request of the service may take, s; 0: no longer than those of others.
        bound_s: that the point's requests are held against, s; 0: that of the study.
    """
    bound_s = bound_s or of_study(spec)
    timeout_s = max(TIMEOUT_S_MIN, TIMEOUT_BOUNDS * bound_s, reply_s)
    drain_s = _timeout_s(spec) or max(DRAIN_BOUNDS * bound_s, reply_s)
    late = {"drain": _text(drain_s)} if drain_s > DRAIN_S else {}
    return {"timeout": _text(timeout_s), **late}


def of_study(spec: ServiceSpec) -> float:
    """The bound of a service's QoS target, s; 0 where there is none, or it is measured."""
    return (spec.qos.bound_ns or 0) / units.NS_PER_S if spec.qos else 0.0


def _timeout_s(spec: ServiceSpec) -> float:
    """The timeout that the study gives itself, s; 0 where it leaves it to the lab."""
    text = str(spec.load.get("timeout") or "auto")
    try:
        return 0.0 if text == "auto" else units.parse_ns(text) / units.NS_PER_S
    except ValueError:
        return 0.0  # the generator refuses it


def _text(seconds: float) -> str:
    return f"{round(seconds * units.NS_PER_S)}ns"
