"""A machine that sleeps or whose time is set, by clocks that are set by hand."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from sojourn.run.clocks import Clocks

Set = Callable[[float, float, float], None]


@pytest.fixture(name="clocks")
def _clocks(monkeypatch: pytest.MonkeyPatch) -> Set:
    now = {"monotonic": 100.0, time.CLOCK_BOOTTIME: 150.0, time.CLOCK_REALTIME: 1e9}

    def go_on(monotonic: float, boot: float, real: float) -> None:
        now["monotonic"] += monotonic
        now[time.CLOCK_BOOTTIME] += boot
        now[time.CLOCK_REALTIME] += real

    monkeypatch.setattr(time, "monotonic", lambda: now["monotonic"])
    monkeypatch.setattr(time, "clock_gettime", lambda clock: now[clock])
    return go_on


@pytest.mark.parametrize(
    ("went", "seen"),
    [
        ((10.0, 10.0, 10.0), {}),
        ((10.0, 10.005, 10.2), {}),  # two looks are not at the same time
        ((10.0, 70.0, 70.0), {"suspended_s": 60.0}),
        ((10.0, 10.0, 3610.0), {"clock_set_s": 3600.0}),
        ((10.0, 10.0, -3590.0), {"clock_set_s": -3600.0}),
        ((10.0, 70.0, 10.0), {"suspended_s": 60.0, "clock_set_s": -60.0}),
    ],
)
def test_what_became_of_the_clocks_is_reported(
    clocks: Set, went: tuple[float, float, float], seen: dict[str, float]
) -> None:
    watched = Clocks()
    clocks(*went)
    assert watched.seen() == seen


def test_the_clocks_of_this_machine_go_on_together() -> None:
    assert "suspended_s" not in Clocks().seen()
