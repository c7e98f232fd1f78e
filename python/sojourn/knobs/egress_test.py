"""A token bucket on loopback of a network namespace of the test's own, not on the machine's."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import HostFault
from sojourn.host.tree import Tree
from sojourn.knobs import Asked, Turned, egress, htb
from sojourn.knobs.egress import Egress
from sojourn.knobs.testing import MemoryBook, put
from sojourn.places import network

PORT = 7777
MB = 1_000_000


@pytest.fixture
def book() -> MemoryBook:
    return MemoryBook()


@pytest.fixture
def on(book: MemoryBook) -> Iterator[Turned]:
    """A service on loopback inside a namespace; skips where none can be made."""
    path = network.RUN / f"sojourn-{secrets.token_hex(3)}"
    try:
        network.make(path)
    except OSError as error:
        pytest.skip(f"no network namespace can be made: {error.strerror}")
    try:
        network.inside(path, lambda: network.bring_up("lo"))
        yield Turned(label="web", leader=os.getpid(), book=book, port=PORT, netns=path)
    finally:
        network.remove(path)


@pytest.fixture
def knob(on: Turned, monkeypatch: pytest.MonkeyPatch) -> Egress:
    """On loopback there, as `place = "local"` has it."""
    monkeypatch.setattr(egress, "INNER", "lo")
    monkeypatch.setattr(egress, "send", send_inside)
    return Egress(on)


def send_inside(on: Turned) -> tuple[int, float]:
    """As `egress.send` does in the lab's own namespace."""
    assert on.netns is not None
    here = Turned(label=on.label, leader=on.leader, book=on.book, port=on.port)
    return network.inside(on.netns, lambda: SEND(here))


SEND = egress.send


def qdiscs(on: Turned) -> list[Any]:
    """All qdiscs inside."""
    assert on.netns is not None

    def act() -> list[Any]:
        with network.netlink() as route:
            return [(q["index"], q["handle"], q.get_attr("TCA_KIND")) for q in route.get_qdiscs()]

    return network.inside(on.netns, act)


def test_a_rate_is_set_read_back_felt_changed_and_taken_away(
    knob: Egress, on: Turned, book: MemoryBook
) -> None:
    before = qdiscs(on)
    assert knob.read() == "none"
    for level in ("4MB/s", "80Mbit/s"):
        knob.apply(level)
        assert egress.bps_of(knob.read()) == egress.bps_of(level)
        effect = knob.verify()
        assert effect.verdict == "holds", effect.why
    assert len(book.open) == 1
    knob.restore()
    assert qdiscs(on) == before
    assert not book.open


def test_a_rate_that_the_packets_do_not_meet_is_caught(
    knob: Egress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(htb, "PORT_AT", 22)  # the filter looks for it where the other port stands
    knob.apply("4MB/s")
    effect = knob.verify()
    assert effect.verdict == "violated", effect.why
    assert "the cap had no effect" in effect.why
    knob.restore()


def test_a_bucket_that_is_gone_is_reported(knob: Egress) -> None:
    knob.apply("4MB/s")
    assert knob._bucket is not None
    htb.remove(knob._bucket)
    assert knob.verify().verdict == "violated"
    knob.restore()


def test_after_a_crash_the_link_has_what_it_had(knob: Egress, on: Turned, book: MemoryBook) -> None:
    before = qdiscs(on)
    knob.apply("4MB/s")
    ((kind, facts),) = book.open.values()
    assert kind == "qdisc"
    report = htb.undo(facts)
    assert report is not None
    assert report.is_done
    assert qdiscs(on) == before
    assert htb.undo(facts) is None


def test_what_is_not_the_labs_is_neither_changed_nor_removed(
    knob: Egress, on: Turned, book: MemoryBook
) -> None:
    bucket = htb.Bucket(link="lo", netns=on.netns, major=1)
    htb.make(bucket, 1234)
    with pytest.raises(HostFault, match="not the lab's"):
        knob.apply("4MB/s")
    assert not book.open
    assert htb.undo({**bucket.facts(), "major": 2}) is None
    assert htb.is_there(bucket)


def test_a_sender_is_judged_by_what_left() -> None:
    def result(bps: int, sent: int, free: int) -> str:
        return egress.judge(bps, sent, 0.4, free=free, free_s=0.4).verdict

    assert result(4 * MB, 2 * MB, 400 * MB) == "holds"
    assert result(4 * MB, 40 * MB, 400 * MB) == "violated"
    assert result(400 * MB, 4 * MB, 4_000 * MB) == "unknown"


def test_a_rate_above_what_a_probe_can_send_is_not_reported_as_in_force() -> None:
    effect = egress.judge(400 * MB, 130 * MB, 0.4, free=130 * MB, free_s=0.4)
    assert effect.verdict == "unknown"
    assert "not measured: without a limit it sends" in effect.why


def test_a_right_that_is_missing_is_reported(tmp_path: Path) -> None:
    put(tmp_path, "/proc/self/status", "CapEff:\t0000000000000000")
    lack = egress.lacks(Asked(level="4MB/s", tree=Tree(tmp_path)))
    assert lack is not None
    assert "CAP_NET_ADMIN" in lack.missing
    put(tmp_path, "/proc/self/status", "CapEff:\t000001ffffffffff")
    assert egress.lacks(Asked(level="4MB/s", tree=Tree(tmp_path))) is None


def test_a_probe_needs_the_port_for_datagrams(on: Turned) -> None:
    assert on.netns is not None

    def taken() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind((on.host, PORT))
            with pytest.raises(OSError, match="in use"):
                SEND(Turned(label="web", leader=1, book=on.book, port=PORT))

    network.inside(on.netns, taken)
