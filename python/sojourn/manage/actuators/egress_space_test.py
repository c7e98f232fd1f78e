"""Which links `egress` may touch, where processes end, come and go."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn.knobs import Turned, htb, net_space
from sojourn.knobs.htb import Bucket
from sojourn.knobs.testing import MemoryBook
from sojourn.manage.actuators import Member
from sojourn.manage.actuators import egress as sending
from sojourn.manage.actuators.egress import Sending
from sojourn.manage.config import GroupSpec
from sojourn.manage.testing import TREE, until
from sojourn.places import network

NO_NAMESPACE = subprocess.run(["unshare", "--net", "true"], check=False).returncode
pytestmark = pytest.mark.skipif(bool(NO_NAMESPACE), reason="no network namespace can be made")
BPS = 2_000_000
EMFILE = 24


class Space:
    """A program in a network namespace of its own, of which lo is the only link."""

    def __init__(self) -> None:
        self.program = subprocess.Popen(["unshare", "--net", "sleep", "60"])
        self.pid = self.program.pid
        self.number = ""
        assert until(self._is_apart)

    def _is_apart(self) -> bool:
        self.number = net_space.number(self.pid)
        return self.number not in {"", net_space.number(os.getpid())}

    def root(self) -> tuple[str, int]:
        """Kind and handle of the link's root qdisc."""
        at = net_space.of_process(self.pid)
        return htb.root_of(Bucket(link="lo", netns=at, major=0, space=self.number))

    def end(self) -> None:
        self.program.kill()
        self.program.wait(20)


Make = Callable[[], Space]


@pytest.fixture
def make() -> Iterator[Make]:
    ones: list[Space] = []

    def one() -> Space:
        ones.append(Space())
        return ones[-1]

    yield one
    for each in ones:
        each.end()


@pytest.fixture
def book() -> MemoryBook:
    return MemoryBook()


def actuator(book: MemoryBook, pids: list[int]) -> Sending:
    """That of a group with these processes, which may change."""
    on = Turned(label="batch", leader=pids[0], book=book, tree=TREE, pids=lambda: pids)
    spec = GroupSpec(role="best-effort", cgroup="/batch", link="lo")
    return Sending(Member(spec=spec, on=on, cpus=tuple))


def test_the_machines_links_are_known_where_process_1_hides_its_namespace(
    book: MemoryBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a manager in a namespace of its own, which is not the machine's; nothing is set."""
    number = net_space.number
    other = {1: "", os.getpid(): "net:[1]"}
    monkeypatch.setattr(net_space, "number", lambda pid: other.get(pid, number(pid)))
    with subprocess.Popen(["sleep", "60"]) as program:
        lack = actuator(book, [program.pid]).lack()
        program.kill()
    assert lack is not None
    assert "it sends by the machine's links" in lack.fix


def test_nothing_is_asked_of_the_machines_links_by_a_namespaces_number() -> None:
    """Whoever has written it down: it is only read here."""
    space = net_space.number(os.getpid())
    if not net_space.are_one("self", 1):
        pytest.skip("the tests are not in the machine's own namespace")
    with pytest.raises(PermissionError, match="the machine's own links"):
        htb.root_of(Bucket(link="lo", netns=None, major=0x1234, space=space))
    undone = htb.undo({"link": "lo", "netns": "", "major": 0x1234, "space": space})
    assert undone is not None
    assert not undone.is_done


def test_a_namespace_that_is_open_lasts_and_its_number_is_no_others(make: Make) -> None:
    one = make()
    with net_space.opened(one.number) as entrance:
        assert entrance is not None
        one.end()
        others = {make().number for _ in range(3)}
        assert one.number not in others
        assert network.inside(entrance, own_number) == one.number
    with net_space.opened("net:[1]") as entrance:
        assert entrance is None, "nothing holds it"


def own_number() -> str:
    return str(Path("/proc/thread-self/ns/net").readlink())


def test_a_group_that_ends_while_the_bucket_is_made_leaves_its_number_to_no_other(
    make: Make, book: MemoryBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ = [make() for _ in range(3)]  # the lowest free numbers, so that the next is that of `one`
    one, later, note = make(), list[Space](), book.note

    def ends(kind: str, /, **facts: object) -> int:
        one.end()
        until(lambda: False, 0.3)  # until the kernel has done with an open one
        later.extend(make() for _ in range(3))
        return note(kind, **facts)

    monkeypatch.setattr(book, "note", ends)
    group = actuator(book, [one.pid])
    with pytest.raises(OSError, match="namespace is gone"):
        group.apply(float(BPS))
    assert one.number not in {each.number for each in later}
    assert {each.root()[1] for each in later} == {0}, "no queue of the lab's"
    assert group.restore() == []
    assert not book.open


def test_a_bucket_that_cannot_be_seen_now_stays_noted(
    make: Make, book: MemoryBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = make()
    group, before = actuator(book, [one.pid]), one.root()
    group.apply(float(BPS))
    with monkeypatch.context() as patch:
        patch.setattr(network, "inside", lambda _path, _act: too_many())
        assert "cannot be removed: Too many open files" in group.restore()[0]
        ((_, facts),) = book.open.values()
        undone = htb.undo(facts)
        assert undone is not None
        assert not undone.is_done
    assert one.root()[0] == "htb"
    assert group.restore() == []
    assert one.root() == before
    assert not book.open


def too_many() -> None:
    raise OSError(EMFILE, "Too many open files")


def test_a_bucket_is_reached_by_a_process_that_is_left(make: Make, book: MemoryBook) -> None:
    one = make()
    words = ["nsenter", "--net", f"--target={one.pid}", "sleep", "60"]
    with subprocess.Popen(words) as other:
        try:
            assert until(lambda: net_space.number(other.pid) == one.number)
            group = actuator(book, [one.pid, other.pid])
            group.apply(float(BPS))
            one.end()
            group.apply(BPS / 2)
            assert group.lies() == ""
            assert group.restore() == []
            assert not book.open
        finally:
            other.kill()


def test_a_process_that_ends_between_two_lists_is_no_stranger(
    make: Make, book: MemoryBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, members = make(), net_space.members
    group, ended = actuator(book, [one.pid]), [1 << 22]
    monkeypatch.setattr(net_space, "members", lambda space: members(space) | {next_pid(ended)})
    monkeypatch.setattr(sending, "READ_S", 0.0)
    group.apply(float(BPS))
    assert [group.lies() for _ in range(3)] == [""] * 3
    monkeypatch.setattr(net_space, "members", lambda space: members(space) | {1 << 22})
    assert [bool(group.lies()) for _ in range(2)] == [False, True]
    assert group.restore() == []


def next_pid(ended: list[int]) -> int:
    ended[0] += 1
    return ended[0]


def test_what_a_process_elsewhere_sends_is_not_counted(make: Make, book: MemoryBook) -> None:
    one, pids = make(), list[int]()
    pids.append(one.pid)
    group = actuator(book, pids)
    group.apply(float(BPS))
    pids.insert(0, make().pid)
    group.over(time.monotonic())
    assert group._seen is not None
    sent = group._sent(one.pid)
    assert group._seen[1] == sent
    pids.remove(one.pid)
    group.over(time.monotonic())
    assert group._seen is None, "none of its processes sends by the link"
    assert group.restore() == []


@pytest.mark.parametrize("bps", [1000, (1 << 32) - 1, 1 << 32, 12_500_000_000, (1 << 53) - 1])
def test_a_rate_of_any_size_reads_back(bps: int, make: Make, book: MemoryBook) -> None:
    group = actuator(book, [make().pid])
    group.apply(float(bps))
    assert group._bucket is not None
    assert htb.rate(group._bucket) == bps
    assert group.restore() == []
