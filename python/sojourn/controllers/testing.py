"""For tests: made-up looks of two groups, and a rule that follows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.controllers import kind
from sojourn.controllers.look import (
    BEST_EFFORT,
    CRITICAL,
    LOOKS_MAX,
    Allocation,
    Change,
    Group,
    History,
    Level,
    Look,
    Signal,
    Window,
)

TARGET_NS = 1e6
LENGTHS_MS = (100, 500, 1000, 15_000)


def windows(p99_ms: float | None, n: int = 1000, above: int | None = None) -> tuple[Window, ...]:
    """The same p99 in windows of every length."""
    p99_ns = None if p99_ms is None else p99_ms * 1e6
    return tuple(Window(length_ms=ms, n=n, p99_ns=p99_ns, above=above) for ms in LENGTHS_MS)


def signals(**values: float) -> dict[str, Signal]:
    """Signals that were read just now."""
    return {name: Signal(value=value) for name, value in values.items()}


def look(
    t_s: float,
    p99_ms: float | None = 0.5,
    *,
    cpus: int = 8,
    web: Mapping[str, Any] | None = None,
    batch: Mapping[str, Any] | None = None,
    host: Mapping[str, float] | None = None,
    n: int = 1000,
    above: int | None = None,
    web_has: Mapping[str, float] | None = None,
    batch_has: Mapping[str, float] | None = None,
) -> Look:
    """One moment of a service `web` with a target of 1 ms, and of `batch`.

    `p99_ms`, `n` and `above` are of all windows; `web` and `batch` are allocations, `web_has` and
    `batch_has` the groups' signals.
    """
    groups = {
        "web": Group(
            role=CRITICAL,
            target_ns=TARGET_NS,
            windows=windows(p99_ms, n, above),
            signals=signals(**(web_has or {})),
            allocation=Allocation(**(web or {})),
        ),
        "batch": Group(
            role=BEST_EFFORT,
            signals=signals(**(batch_has or {})),
            allocation=Allocation(**(batch or {})),
        ),
    }
    return Look(t_s=t_s, cpus=cpus, groups=groups, signals=signals(**(host or {})))


def applied(one: Look, now: Mapping[str, Allocation]) -> Look:
    """The same look with these allocations."""
    groups = {
        name: group.model_copy(update={"allocation": now.get(name, group.allocation)})
        for name, group in one.groups.items()
    }
    return one.model_copy(update={"groups": groups})


def changed(now: dict[str, Allocation], changes: Sequence[Change]) -> None:
    """What the changes make of allocations."""
    for change in changes:
        now[change.group] = now[change.group].model_copy(update={change.knob: change.level})


def follow(name: str, looks: Sequence[Look], **value: float) -> list[list[tuple[str, str, Level]]]:
    """What a controller changes at each look, its changes applied: (group, knob, level)."""
    controller_kind = kind(name)
    constants = controller_kind.settled(value)
    memory: Mapping[str, Any] = {}
    now = {name: group.allocation for name, group in looks[0].groups.items()}
    past: tuple[Look, ...] = ()
    answers: list[list[tuple[str, str, Level]]] = []
    for one in looks:
        past = (*past, applied(one, now))[-LOOKS_MAX:]
        decision = controller_kind.decide(History(looks=past, memory=memory, constants=constants))
        memory = decision.memory
        changed(now, decision.changes)
        answers.append([(c.group, c.knob, c.level) for c in decision.changes])
    return answers
