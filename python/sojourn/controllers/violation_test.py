"""Windows that are not exactly a second long, as those of an endpoint."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from sojourn.controllers import kind
from sojourn.controllers.look import LOOKS_MAX, Decision, History, Look, Window
from sojourn.controllers.posterior import CONSTANTS
from sojourn.controllers.rule import OfKind
from sojourn.controllers.testing import follow, look
from sojourn.controllers.violation import pooled
from sojourn.errors import SpecFault

EVERY_S = 0.1


def of_endpoint(length_s: float, rps: float, late: float, seconds: float) -> Iterator[Look]:
    """A look each 0.1 s at windows of one length, one after the other."""
    draw = random.Random(5)  # noqa: S311
    count, n, above = -1, 0, 0
    for i in range(1, round(seconds / EVERY_S)):
        t_s = round(i * EVERY_S, 4)
        ended = int(t_s / length_s)
        one = look(t_s, None)
        if ended:
            if ended != count:
                count, n = ended, round(rps * length_s)
                above = sum(draw.random() < late for _ in range(n))
            age_ms = 1000 * (t_s - ended * length_s)
            window = Window(length_ms=round(1000 * length_s), n=n, above=above, age_ms=age_ms)
            web = one.groups["web"].model_copy(update={"windows": (window,)})
            one = one.model_copy(update={"groups": {**one.groups, "web": web}})
        yield one


def decided(looks: Iterator[Look]) -> Sequence[tuple[Look, Decision]]:
    results, past, one = [], tuple[Look, ...](), kind("posterior")
    memory: dict[str, Any] = {}
    for now in looks:
        past = (*past, now)[-LOOKS_MAX:]
        decision = one.decide(History(looks=past, memory=memory, constants=CONSTANTS))
        memory = dict(decision.memory)
        results.append((now, decision))
    return results


@pytest.mark.parametrize("length_s", [1.0, 1.003, 5.01])
def test_few_requests_of_which_twice_too_many_are_late_are_seen_in_windows_of_any_length(
    length_s: float,
) -> None:
    every = decided(of_endpoint(length_s, rps=200, late=0.015, seconds=120))
    acted = [now.t_s for now, one in every if any(c.knob == "quota" for c in one.changes)]
    assert acted
    assert acted[0] < 110
    fine = decided(of_endpoint(length_s, rps=200, late=0.004, seconds=120))
    assert not [one for _, one in fine if any(c.knob == "quota" for c in one.changes)]


def test_each_window_is_added_once_whenever_the_looks_come() -> None:
    past = tuple[Look, ...]()
    memory: dict[str, Any] = {"since": 0.0, "pools": {}}
    for now in of_endpoint(1.003, rps=200, late=0.02, seconds=60.3):
        past = (*past, now)[-LOOKS_MAX:]
        history = History(looks=past, memory=memory, constants=CONSTANTS)
        memory = {"since": 0.0, "pools": {"web": pooled(history, "web")}}
    pool = memory["pools"]["web"]
    assert 55 <= pool["windows"] <= 60
    assert pool["s"] == pytest.approx(1.003 * pool["windows"])
    assert pool["n"] == 201 * pool["windows"]


@pytest.mark.parametrize(("length_ms", "is_one"), [(1000, True), (1003, True), (1101, False)])
def test_a_window_a_little_longer_than_asked_for_is_that_window(
    length_ms: int, *, is_one: bool
) -> None:
    window = Window(length_ms=length_ms, n=100, p99_ns=2e6)
    group = look(1.0).groups["web"].model_copy(update={"windows": (window,)})
    assert (group.slack(1000) == -1.0) is is_one


@pytest.mark.parametrize(
    ("name", "every_s", "constants", "is_refused"),
    [
        ("parties", 1.0, {}, True),
        ("parties", 1.0, {"sample_s": 1.0}, False),
        ("parties", 0.1, {}, False),
        ("osml-gates", 1.0, {}, True),
        ("proportional", 1.0, {}, False),
        ("clite", 5.0, {}, True),
        ("heracles", 5.0, {}, False),
        ("posterior", 60.0, {}, False),
    ],
)
def test_a_rule_for_which_every_window_is_too_long_is_refused(
    name: str, every_s: float, constants: dict[str, float], *, is_refused: bool
) -> None:
    one = OfKind(kind(name), constants)
    if not is_refused:
        one.check_windows(every_s)
        return
    with pytest.raises(SpecFault, match=f"and the source has one each {every_s:g} s"):
        one.check_windows(every_s)


def test_parties_reads_windows_of_the_length_of_its_samples() -> None:
    window = Window(length_ms=1002, n=100, p99_ns=2e6)
    looks = []
    for second in range(1, 5):
        now = look(float(second), None, cpus=8, web={"cores": 4}, batch={"cores": 4})
        web = now.groups["web"].model_copy(update={"windows": (window,)})
        looks.append(now.model_copy(update={"groups": {**now.groups, "web": web}}))
    assert not any(follow("parties", looks))
    assert ("web", "cores", 5) in follow("parties", looks, sample_s=1.0)[0]
