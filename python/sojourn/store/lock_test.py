"""Whoever only looks at a record holds up no one who writes into it."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from sojourn import store
from sojourn.errors import StoreFault
from sojourn.plan.simulated import study
from sojourn.store import lock
from sojourn.store.remove import remove

ASKED = study(profile="quick")


@pytest.fixture
def record(tmp_path: Path) -> Path:
    with store.open(tmp_path, ASKED) as opened:
        return opened.path


@pytest.fixture
def look(record: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IO[bytes]]:
    """A look of `is_live` that lasts until the writer waits for the first time."""
    with (record / lock.NAME).open("rb") as handle:
        fcntl.flock(handle, fcntl.LOCK_SH)
        monkeypatch.setattr("time.sleep", lambda _: handle.close())
        yield handle


def resumed(results: Path, record: Path) -> None:
    with store.open(results, ASKED) as opened:
        assert opened.path == record


@pytest.mark.parametrize("act", [resumed, remove])
def test_a_look_at_the_same_time_is_waited_for(
    act: Callable[[Path, Path], object], record: Path, look: IO[bytes], tmp_path: Path
) -> None:
    act(tmp_path, record)
    assert look.closed


def test_who_writes_is_not_waited_for_without_end(
    record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "LOOK_S", 0.0)
    with store.open(tmp_path, ASKED), pytest.raises(StoreFault, match="being measured by process"):
        remove(tmp_path, record)
