"""Quiet nights: few requests, or none, and what a group that was cut gets back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from sojourn.controllers import History, quiet
from sojourn.controllers.look import Level, Look
from sojourn.controllers.posterior import CONSTANTS
from sojourn.controllers.testing import follow, look

CUT = {"quota": 0.05, "idle": True}


def night(n: int, above: Mapping[int, int], seconds: int) -> list[Look]:
    """A look each second; each window has n requests, and as many late ones as `above` has."""
    looks = [look(t, None, n=n, above=above.get(t, 0), batch=CUT) for t in range(seconds)]
    return looks if n else [_without(one) for one in looks]


def _without(one: Look) -> Look:
    """No request came, so none was counted as late."""
    web = one.groups["web"]
    windows = tuple(w.model_copy(update={"above": None}) for w in web.windows)
    groups = {**one.groups, "web": web.model_copy(update={"windows": windows})}
    return one.model_copy(update={"groups": groups})


def grown(looks: list[Look]) -> list[tuple[int, Level]]:
    """When the quota of the group changes, s, and to what."""
    answers = follow("posterior", looks)
    return [(t, level) for t, answer in enumerate(answers) for _, _, level in answer]


@pytest.mark.parametrize("n", [0, 20, 800])
def test_a_group_that_was_cut_grows_each_two_minutes_where_few_requests_come(n: int) -> None:
    assert grown(night(n, {}, 250)) == [(120, 0.0625), (240, 0.0781)]


def test_a_late_request_among_few_means_two_minutes_more() -> None:
    assert grown(night(20, {45: 1}, 250)) == [(240, 0.0625)]


def test_many_requests_do_not_wait_two_minutes() -> None:
    assert grown(night(900, {}, 20)) == [(15, 0.0625)]


def state(before: quiet.State, t_s: float, n: int, above: int | None) -> quiet.State:
    """What is noted after a look at this time, all of it after a change at 0 s."""
    memory: dict[str, Any] = {"since": 0.0, "quiet": {"web": before}}
    now = look(t_s, None, n=n, above=above)
    return quiet.added(History(looks=(now,), memory=memory, constants=CONSTANTS), "web")


def test_what_is_calm_lasts_until_a_late_request_or_many_come() -> None:
    calm: quiet.State | None = None
    for t in range(0, 121, 15):
        memory: dict[str, Any] = {"since": 0.0, "quiet": {} if calm is None else {"web": calm}}
        now = look(float(t), None, n=20, above=0)
        history = History(looks=(now,), memory=memory, constants=CONSTANTS)
        calm = quiet.added(history, "web")
    assert calm is not None
    assert calm["is_calm"]
    assert calm == json.loads(json.dumps(calm)), "plain JSON"
    assert state(calm, 121.0, 20, 0)["is_calm"], "another service may be calm at another time"
    assert not state(calm, 121.0, 20, 1)["is_calm"]
    assert not state(calm, 121.0, 1000, 0)["is_calm"], "its window says enough by itself"
    assert not state(calm, 121.0, 20, None)["is_calm"], "its late requests are not counted"
    assert not state({**calm, "since": -1.0}, 121.0, 20, 0)["is_calm"], "of another allocation"
