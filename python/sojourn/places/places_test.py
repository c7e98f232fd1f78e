from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

import pytest

from sojourn import places
from sojourn.errors import RunFault, SpecFault
from sojourn.places import KINDS, Address, Launch, Place, ports

NO_KIND = {
    *("__init__", "ledger", "place", "ports", "proc", "process", "task", "server_files", "users"),
    *("cgroups", "contained", "inside", "network", "pinning", "remains", "rootfs", "starter"),
    *("confined", "foreign", "halt", "image", "launch", "process_end", "serving", "temporary"),
    *("hidden", "numbers", "owner", "podman", "scripts", "warden"),
}


def test_the_table_lists_every_file_of_the_folder() -> None:
    folder = Path(places.__file__).parent
    files = {path.stem for path in folder.glob("*.py") if not path.stem.endswith("_test")}
    assert files - NO_KIND == set(KINDS)
    assert all(name == kind.name for name, kind in KINDS.items())


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_describes_itself_and_builds_its_own(name: str) -> None:
    kind = KINDS[name]
    assert kind.about
    place = kind.build()
    assert isinstance(place, Place)
    assert place.kind == name
    place.leave()  # one that was never entered


def test_an_unknown_place_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpecFault) as caught:
        places.kind("loca")
    assert caught.value.fix == "did you mean local?"


def test_local_is_loopback_and_knows_who_has_a_port() -> None:
    place = KINDS["local"].build()
    address = place.address(0)
    assert address.host == "127.0.0.1"
    assert place.address(4711) == Address("127.0.0.1", 4711)
    assert place.is_free(address.port)
    with socket.socket() as server:
        server.bind(address)
        server.listen()
        assert not place.is_free(address.port)
        assert place.owner(address.port, [os.getpid()]) == os.getpid()
        assert str(os.getpid()) in place.holder(address.port)
    assert place.owner(address.port, [os.getpid()]) is None


class Nobody:
    """A ledger that nothing may be noted in."""

    def started(self, what: str, pid: int, start_ticks: int) -> int:
        raise AssertionError(what)

    def undone(self, entry: int) -> None:
        raise AssertionError(entry)


def test_nothing_can_be_started_nowhere(tmp_path: Path) -> None:
    place = KINDS["null"].build()
    assert not KINDS["null"].starts
    launch = Launch("nginx", ["/bin/true"], cwd=tmp_path, ledger=Nobody(), log=tmp_path / "log")
    with pytest.raises(RunFault) as caught:
        place.start(launch)
    assert "local" in caught.value.fix


def test_no_path_of_a_unix_socket_is_followed_by_another_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody may listen at a path with a line feed in it; the kernel's table has it as it is."""
    monkeypatch.chdir(tmp_path)  # a path is at most 108 bytes long
    forged = ("x\n0: 2 0 10000 1 1 31337 /victim", "y\n1 2 3 z 5 6 z /victim")
    with contextlib.ExitStack() as opened:
        for name in forged:
            Path(name).parent.mkdir(exist_ok=True)
            listener = opened.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(name)
            listener.listen()
        assert "\n0: 2 0 10000 1 1 31337 /victim\n" in Path("/proc/self/net/unix").read_text()
        assert ports.unix_listeners(Path("/victim")) == frozenset()


def test_who_listens_at_a_unix_socket_is_known_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as before, socket.socket(socket.AF_UNIX) as server:
        before.bind(str(path))
        before.listen()
        assert ports.unix_listeners(path) == {os.fstat(before.fileno()).st_ino}
        path.rename(tmp_path / "moved")  # its name in the kernel stays
        server.bind(str(path))
        server.listen()
        assert ports.unix_listeners(path) == {os.fstat(server.fileno()).st_ino}
        assert ports.unix_accepted(path) == frozenset()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            with server.accept()[0] as accepted:
                assert ports.unix_accepted(path) == {os.fstat(accepted.fileno()).st_ino}


def test_options_of_a_place_are_at_most_one_for_each_part() -> None:
    assert [one.name for one in places.options("vm:restored")] == ["restored"]
    assert places.options("vm") == places.options("runc:netns") == ()
    assert places.network_kind("vm:restored") is None
    for asked, what in (("vm:resorted", "resorted"), ("vm:restored+restored", "two options")):
        with pytest.raises(SpecFault, match=what):
            places.build(asked)
