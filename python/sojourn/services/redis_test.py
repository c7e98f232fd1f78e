"""Redis: each life begins with nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import programs, services
from sojourn.places import Address, ports
from sojourn.services import Allowance
from sojourn.services.redis import Redis

AT = Address(ports.HOST, 5000)
ROOMY = Allowance(cpus=4, memory_bytes=8 << 30, open_files=1 << 20)


def test_a_life_of_redis_does_not_load_what_an_earlier_one_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, work = tmp_path / "saved", tmp_path / "work"
    (work / "appendonlydir").mkdir(parents=True)
    (work / "appendonlydir" / "appendonly.aof.1.incr.aof").write_text("*3")
    (work / "appendonly.aof").write_text("*3")
    (work / "service.log").touch()
    monkeypatch.setattr(programs, "find", lambda name, **_: Path("/nowhere") / name)
    store = services.build("redis", {"append_only": True}, ROOMY)
    assert isinstance(store, Redis)
    assert "--appendonly yes" in " ".join(store.start(work, AT).words)
    assert [path.name for path in work.iterdir()] == ["service.log"]
    saved.mkdir()
    (saved / "mine").touch()
    (work / "appendonlydir").symlink_to(saved)  # planted by whoever may write there
    assert store.needs().is_syncing
    store.start(work, AT)
    assert [path.name for path in work.iterdir()] == ["service.log"]
    assert (saved / "mine").exists()
