"""A service is killed, its group stays: best-effort work gets its safe cap."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.manage import testing
from sojourn.manage.daemon_test import here, state
from sojourn.manage.facts import NO_PROCESS
from sojourn.manage.reload_test import managed
from sojourn.manage.testing import Stand

__all__ = ["here", "state"]
pytestmark = pytest.mark.skipif(bool(testing.lack()), reason=testing.lack() or "-")
SAFE, QUOTA, WITHIN_S = 0.05, 0.3, 30.0


def test_it_is_not_taken_for_idle(here: Stand, state: Path) -> None:
    """Its clients are refused at once, so that no client waits for an answer."""
    quotas: list[float | None] = []

    def empty() -> None:
        line = {"length_ms": 100, "n": 0, "above": 0, "waiting": 0}
        with here.lines.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def rounds() -> Iterator[None]:
        here.window()
        yield
        yield
        quotas.append(here.quota())
        here.programs["web"].kill()
        here.programs["web"].wait(20)
        until_s = time.monotonic() + WITHIN_S
        while here.quota() != SAFE and time.monotonic() < until_s:
            empty()
            yield
            time.sleep(0.05)
        quotas.append(here.quota())

    with managed(here, constants={"quota": QUOTA}, silent_s=0.5) as one:
        one.run(rounds)
    assert quotas == [pytest.approx(QUOTA), SAFE]
    (capped,) = [event for event in here.events() if event["event"] == "capped"]
    assert capped["reason"] == f"web answers nothing, because {NO_PROCESS}"
    assert here.quota() is None, "all is put back at the end"
