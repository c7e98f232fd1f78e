"""Redis: each life begins with nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import programs, services
from sojourn.errors import HostFault, RunFault
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


def test_a_file_of_all_items_must_fit_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find", lambda name, **_: Path("/nowhere") / name)
    small = Allowance(cpus=4, memory_bytes=64 << 30, disk_bytes=1 << 30)
    fitting = services.build("redis", {"append_only": True}, small)
    assert isinstance(fitting, Redis)
    # Twice, in half of the disk: "*3", "SET", key and value, each with its length and line ends.
    logged = len(b"*3\r\n$3\r\nSET\r\n$30\r\n\r\n$200\r\n\r\n") + 230
    assert 0.95 < 4 * logged * fitting.items / (1 << 30) <= 1
    assert "all that disk allows" in dict(fitting.why)["items"]
    with pytest.raises(HostFault, match="half of the free disk allows") as caught:
        services.build("redis", {"append_only": True, "items": fitting.items + 1}, small)
    assert f"at most {fitting.items} items" in caught.value.fix
    unwritten = services.build("redis", {}, small)
    assert isinstance(unwritten, Redis)
    assert unwritten.items == 6_400_000


def test_buffers_of_all_connections_leave_room_for_the_items(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(programs, "find", lambda name, **_: Path("/nowhere") / name)
    store = services.build("redis", {"items": 1_000, "connections_max": 8_192}, ROOMY)
    assert isinstance(store, Redis)
    # 8000 connections with a SET each took 280 MB in Redis 7.0, all of which counts.
    words = store.start(Path("/nowhere"), AT).words
    limit_mb = int(words[words.index("--maxmemory") + 1].removesuffix("mb"))
    assert limit_mb > 280 + 1_000 * 400 / (1 << 20)
    assert store.needs().memory_bytes >= limit_mb << 20


@pytest.mark.parametrize("reply", [None, b":99\r\n", b":x\r\n", b":1_00\r\n", b"-NOAUTH\r\n"])
def test_only_the_number_of_all_items_is_taken_for_it(
    reply: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "find", lambda name, **_: Path("/nowhere") / name)
    store = services.build("redis", {"items": 100}, ROOMY)
    assert isinstance(store, Redis)
    monkeypatch.setattr(ports, "ask", lambda *_, **__: reply)
    with pytest.raises(RunFault, match="of 100 items"):
        store.check(AT)
    monkeypatch.setattr(ports, "ask", lambda *_, **__: b":100\r\n")
    assert dict(store.check(AT))["items held"] == "100"
