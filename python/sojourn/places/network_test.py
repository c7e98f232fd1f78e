from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.errors import HostFault
from sojourn.places import netns, network
from sojourn.places.ledger import Undone
from sojourn.places.netns import Netns
from sojourn.places.network import RANGES, Link, free_block

LINK = {"name": "sojourn-abcdefv", "mac": "02:00:00:00:00:01"}


class Book:
    """A book in memory that knows what was done when a line was written."""

    def __init__(self, done: list[str]) -> None:
        self.done = done
        self.open: dict[int, str] = {}

    def started(self, what: str, pid: int, start_ticks: int) -> int:
        raise NotImplementedError

    def note(self, kind: str, /, **facts: object) -> int:
        number = len(self.done) + 1
        self.done.append(f"note {kind}")
        self.open[number] = kind
        return number

    def undone(self, entry: int) -> None:
        self.done.append(f"cross out {self.open.pop(entry)}")


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What was done, in order, on a machine that is only told about."""
    reports: list[str] = []

    def act(name: str, *about: object) -> None:
        reports.append(name)

    for name in ("make", "add_bridge", "add_pair", "join", "bring_up", "delete", "remove"):
        monkeypatch.setattr(network, name, partial(act, name))
    monkeypatch.setattr(network, "inside", lambda path, ask: ask())
    monkeypatch.setattr(network, "routed", lambda: (IPv4Network("10.0.0.0/8"),))
    monkeypatch.setattr(network, "RUN", tmp_path)
    return reports


def test_a_block_overlaps_with_nothing_that_is_routed() -> None:
    taken = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/13", "192.0.2.0/24")))
    for lot in range(0, 1 << 24, 123_457):
        block = free_block(taken, lot)
        assert block is not None
        assert block.is_private
        assert not any(block.overlaps(other) for other in taken)


def test_without_routes_it_is_in_the_first_range_and_differs_by_lot() -> None:
    blocks = {free_block((), lot) for lot in range(100)}
    assert len(blocks) == 100
    assert all(block and block.subnet_of(RANGES[0]) for block in blocks)


class Route(dict[str, int]):
    """A route as the kernel reports it."""

    def __init__(self, to: str | None, bits: int) -> None:
        super().__init__(dst_len=bits)
        self._to = to

    def get_attr(self, name: str) -> str | None:
        assert name == "RTA_DST"
        return self._to


def test_a_default_route_in_parts_takes_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [Route(None, 0), Route("0.0.0.0", 1), Route("128.0.0.0", 1)]  # noqa: S104
    seen += [Route("10.0.0.0", 8), Route("10.8.0.0", 24), Route("192.0.2.1", 32)]
    route: Any = SimpleNamespace(get_routes=lambda family: seen)
    monkeypatch.setattr(network, "netlink", lambda: nullcontext(route))
    taken = network.routed()
    assert taken == tuple(map(IPv4Network, ("10.0.0.0/8", "10.8.0.0/24", "192.0.2.1/32")))
    assert free_block(taken, 1) is not None


def test_where_everything_is_routed_there_is_none() -> None:
    assert free_block((IPv4Network("0.0.0.0/0"),), 1) is None


def test_every_step_is_noted_before_it_is_done_and_crossed_out_after_it_is_undone(
    done: list[str],
) -> None:
    place, book = Netns(), Book(done)
    place.enter(book)
    assert done[:6] == ["note netns", "make", "note link", "add_bridge", "note link", "add_pair"]
    assert IPv4Network(f"{place.host}/12", strict=False) == RANGES[1]
    assert place.netns is not None
    assert "sojourn-" in dict(place.notes)["place"]
    del done[:]
    place.leave()
    assert done == [
        *("delete", "cross out link", "delete", "cross out link", "remove", "cross out netns")
    ]
    assert place.host == netns.UNKNOWN
    assert not book.open


def test_what_is_refused_on_the_way_unmakes_what_was_made(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*about: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(network, "add_pair", refuse)
    book = Book(done)
    with pytest.raises(HostFault, match="Operation not supported"):
        Netns().enter(book)
    assert done[-2:] == ["remove", "cross out netns"]
    assert book.open == {}


def test_what_cannot_be_removed_stays_in_the_book(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*about: object) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(network, "remove", refuse)
    place, book = Netns(), Book(done)
    place.enter(book)
    place.leave()
    assert list(book.open.values()) == ["netns"]


def test_a_namespace_is_removed_by_its_name_and_only_if_the_name_is_the_labs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(network, "RUN", tmp_path)
    for name in ("sojourn-abcdef", "blue", "sojourn-"):
        (tmp_path / name).touch()
    assert netns.undo_namespace({"name": "blue"}) is None
    assert netns.undo_namespace({"name": "../blue"}) is None
    assert netns.undo_namespace({"name": "sojourn-/../blue"}) is None
    assert netns.undo_namespace({"name": "sojourn-123456"}) is None  # noted, never made
    undone = netns.undo_namespace({"name": "sojourn-abcdef"})
    assert undone == Undone(what="network namespace sojourn-abcdef", how="removed", is_done=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blue", "sojourn-"]


def test_a_link_is_deleted_only_if_its_hardware_address_is_the_noted_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = {Link(**LINK)}
    monkeypatch.setattr(network, "is_there", lambda link: link in there)
    monkeypatch.setattr(network, "delete", there.discard)
    assert netns.undo_link({**LINK, "mac": "02:00:00:00:00:02"}) is None
    assert netns.undo_link({**LINK, "name": "eth0"}) is None
    assert there
    undone = netns.undo_link(LINK)
    assert undone is not None
    assert undone.is_done
    assert not there
    assert netns.undo_link(LINK) is None


def test_what_fails_in_a_thread_is_reported_to_the_caller(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        network.inside(tmp_path / "none", lambda: None)
    assert network.in_thread(lambda: 7) == 7
