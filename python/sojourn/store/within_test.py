"""The bound on memory holds while a query runs, and not after it."""

from __future__ import annotations

import resource

import pytest

from sojourn.store import within
from sojourn.store.within import SPARE_BYTES, of_machine

AS = resource.RLIMIT_AS


def test_the_limit_is_above_what_is_taken_and_gone_afterwards() -> None:
    before = resource.getrlimit(AS)
    with within.within(50 << 20):
        assert 0 < resource.getrlimit(AS)[0] <= within._taken() + (50 << 20) + SPARE_BYTES
        with pytest.raises(MemoryError):
            bytearray((51 << 20) + SPARE_BYTES)
    assert resource.getrlimit(AS) == before
    with pytest.raises(ZeroDivisionError), within.within(50 << 20):
        raise ZeroDivisionError
    assert resource.getrlimit(AS) == before


def test_what_is_tighter_already_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (5 << 20, 1 << 40))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: asked.append(pair))
    with within.within(1 << 30):
        pass
    assert asked == [(5 << 20, 1 << 40)] * 2


def test_where_nothing_is_known_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(within, "_taken", lambda: 0)
    before = resource.getrlimit(AS)
    with within.within(1):
        assert resource.getrlimit(AS) == before
    assert of_machine() > 1 << 20
