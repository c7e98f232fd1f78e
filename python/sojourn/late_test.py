"""A heavy module behind a name is loaded once, when something of it is first used."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from sojourn import late

SLOW = """
import time
loads = []
time.sleep(0.05)
loads.append(1)
size = 3
"""


@pytest.fixture
def heavy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that takes a while to load."""
    name = "heavy_for_a_test"
    (tmp_path / f"{name}.py").write_text(SLOW)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_it_is_loaded_when_something_of_it_is_used(heavy: str) -> None:
    own = late.module(heavy)
    assert heavy not in sys.modules
    assert own.size == 3
    assert own.loads is sys.modules.pop(heavy).loads
    assert own.size == 3
    assert heavy not in sys.modules, "what was used once is not looked for again"


def test_many_threads_load_it_once_and_see_the_whole_of_it(heavy: str) -> None:
    own, seen = late.module(heavy), list[object]()
    at_once = threading.Barrier(8)

    def use() -> None:
        at_once.wait(60)
        seen.append((own.size, tuple(own.loads)))

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen == [(3, (1,))] * 8


def test_what_it_lacks_is_reported_as_by_the_module_itself(heavy: str) -> None:
    own = late.module(heavy)
    with pytest.raises(AttributeError, match=f"module '{heavy}' has no attribute 'weight'"):
        _ = own.weight
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = late.module("no_such_module").size
