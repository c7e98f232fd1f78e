"""The levels of a scheduling policy: what each gives a thread, its label."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sojourn import units
from sojourn.knobs import attr
from sojourn.knobs.attr import Attr
from sojourn.knobs.knob import Offered

WORDS = {
    "other": attr.OTHER,
    "batch": attr.BATCH,
    "idle": attr.IDLE,
    "fifo": attr.FIFO,
    "rr": attr.RR,
    "deadline": attr.DEADLINE,
}
RATE = "rate"  # in place of a priority
LOWEST = 1  # real-time priority
WEIGHT_LEAST, WEIGHT_MOST = 0.01, 100  # of 100, the usual one: crates/sched/src/terms.rs
PERIOD_MOST_NS = 3_600_000_000_000  # far more than the kernel's own limit, a sysctl of 4 s


def meant(level: str) -> Attr:
    """The attributes that a level gives a thread.

    >>> meant("deadline:2ms/10ms")
    Attr(policy=6, flags=0, nice=0, priority=0, runtime=2000000, deadline=10000000, period=10000000)
    """
    word, _, value = level.partition(":")
    if word == "nice":
        return Attr(attr.OTHER, nice=int(value))
    if word == "slice":
        return Attr(attr.OTHER, runtime=units.parse_ns(value))
    if word == "deadline":
        runtime, period = map(units.parse_ns, value.split("/"))
        return Attr(attr.DEADLINE, runtime=runtime, deadline=period, period=period)
    if value == RATE:
        return Attr(WORDS[word], priority=LOWEST)  # until it is known who else is there
    return Attr(WORDS[word], priority=int(value or 0))


def refuses(level: str) -> str:
    """Why the kernel takes no such level (sched(7), sched_setattr(2)).

    >>> refuses("nice:20"), refuses("fifo:0"), refuses("rr:rate"), refuses("nice:-20")
    ('nice values are -20 to 19', 'real-time priorities are 1 to 99', '', '')
    >>> refuses("slice:0ms"), refuses("bvt,weight=0"), refuses("bvt,weight=0.5")
    ('slices are 0.1 to 100 ms', 'a weight is 0.01 to 100', '')
    >>> refuses("deadline:20ms/10ms")
    'a runtime is 1.024 us at least, and no more than its period'
    """
    word = re.split(r"[:,]", level)[0]
    if word not in WORDS and word not in {"nice", "slice"}:
        return _refuses_bvt(level)
    wanted = meant(level)
    if word == "nice":
        return "" if -20 <= wanted.nice <= 19 else "nice values are -20 to 19"
    if word == "slice":
        return "" if 100_000 <= wanted.runtime <= 100_000_000 else "slices are 0.1 to 100 ms"
    if word == "deadline":
        return _refuses_deadline(wanted)
    if wanted.policy in {attr.FIFO, attr.RR} and not 1 <= wanted.priority <= 99:
        return "real-time priorities are 1 to 99"
    return ""


def _refuses_deadline(wanted: Attr) -> str:
    if wanted.period > PERIOD_MOST_NS:
        return "a period is an hour at most"
    holds = 1024 <= wanted.runtime <= wanted.period
    return "" if holds else "a runtime is 1.024 us at least, and no more than its period"


def _refuses_bvt(level: str) -> str:
    """Why no scheduler of borrowed virtual time takes it.

    >>> _refuses_bvt("bvt,weight=4,weight=5"), _refuses_bvt("bvt,warp=2h"), _refuses_bvt("scx_lavd")
    ('weight occurs twice', 'a time is an hour at most', '')
    """
    pairs = [part.partition("=")[::2] for part in level.split(",")[1:]]
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        return f"{twice} occurs twice"
    weights = [float(value) for name, value in pairs if name == "weight"]
    if any(not WEIGHT_LEAST <= weight <= WEIGHT_MOST for weight in weights):
        return f"a weight is {WEIGHT_LEAST} to {WEIGHT_MOST}"
    is_long = any(units.parse_ns(v) > PERIOD_MOST_NS for name, v in pairs if name != "weight")
    return "a time is an hour at most" if is_long else ""


def rank(label: str, offered: Mapping[str, Offered]) -> int:
    """The rate-monotonic real-time priority of a service: the slowest has the lowest.

    >>> of = {"a": Offered(load=0.1, rps=9e3), "b": Offered(load=0.5, rps=500)}
    >>> rank("a", of), rank("b", of), rank("a", {"a": of["a"]})
    (2, 1, 1)
    """
    own = offered[label].service_rps
    return LOWEST + sum(one.service_rps < own for one in offered.values())


def level_text(result: Attr) -> str:
    """Attributes as a level.

    >>> level_text(meant("rr:3")), level_text(meant("nice:-5")), level_text(meant("slice:3ms"))
    ('rr:3', 'nice:-5', 'slice:3000us')
    >>> level_text(Attr(7))
    'policy 7'
    """
    words = (word for word, policy in WORDS.items() if policy == result.policy)
    word = next(words, f"policy {result.policy}")  # such as 7, SCHED_EXT
    if result.policy == attr.DEADLINE:
        return f"{word}:{result.runtime // 1000}us/{result.period // 1000}us"
    if result.policy in (attr.FIFO, attr.RR):
        return f"{word}:{result.priority}"
    if result.policy == attr.OTHER and result.nice:
        return f"nice:{result.nice}"
    return f"slice:{result.runtime // 1000}us" if result.runtime else word


_LABELS = {
    "other": "kernel default",
    "batch": "SCHED_BATCH",
    "idle": "SCHED_IDLE",
    "fifo:rate": "FIFO by rate",
    "rr:rate": "round robin by rate",
}
_NAMES = {"fifo": "FIFO", "rr": "round robin", "nice": "nice", "deadline": "deadline", "bvt": "BVT"}


def label(level: str) -> str:
    """A level in a few words.

    >>> label("nice:-20"), label("fifo:1"), label("slice:0.1ms"), label("deadline:1ms/4ms")
    ('nice −20', 'FIFO', '0.1 ms slices', 'deadline 1 ms in 4 ms')
    >>> label("other"), label("fifo:rate"), label("rr:7"), label("bvt,warp=5ms"), label("scx_lavd")
    ('kernel default', 'FIFO by rate', 'round robin 7', 'BVT, warp 5 ms', 'scx_lavd')
    """
    name, _, value = level.partition(":")
    if level in _LABELS:
        return _LABELS[level]
    if name == "slice":
        return f"{_spaced(value)} slices"
    if name == "deadline":
        return f"deadline {_spaced(value).replace('/', ' in ')}"
    if level.startswith("bvt"):
        return _spaced(level.replace("bvt", "BVT").replace("=", " ").replace(",", ", "))
    amount = "" if name in {"fifo", "rr"} and value == str(LOWEST) else value.replace("-", "−")
    return f"{_NAMES.get(name, level)} {amount}".strip()


def _spaced(amount: str) -> str:
    return re.sub(r"(\d)(us|ms|s)\b", r"\1 \2", amount).replace("us", "µs")
