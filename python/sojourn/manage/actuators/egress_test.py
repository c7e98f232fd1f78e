"""A token bucket on the link of a group, in a namespace of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import HostFault, RunFault, SpecFault
from sojourn.knobs import Turned, egress, htb, net_space
from sojourn.knobs.htb import Bucket
from sojourn.knobs.testing import MemoryBook
from sojourn.manage import config as configs
from sojourn.manage import testing
from sojourn.manage.actuators import Member
from sojourn.manage.actuators import egress as sending
from sojourn.manage.actuators.egress import Sending
from sojourn.manage.config import GroupSpec
from sojourn.manage.daemon_test import here, journals, played, soon, state, undone_as_of_the_dead
from sojourn.manage.testing import SLEEP, TREE, Stand, stand, until
from sojourn.places import network

__all__ = ["here", "state"]
pytestmark = pytest.mark.skipif(bool(testing.lack()), reason=testing.lack() or "-")
#: Sends datagrams to itself as fast as it can, in a namespace of which lo is the only link.
FLOOD = """
import ctypes, fcntl, socket, struct
if ctypes.CDLL(None).unshare(0x40000000):
    raise SystemExit(77)
sink, sender = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "12")
fcntl.ioctl(sink, 0x8914, struct.pack("16sH22x", b"lo", 0x49))  # SIOCSIFFLAGS: up
sink.bind(("127.0.0.1", 0))
while True:
    sender.sendto(bytes(1400), sink.getsockname())
"""
NO_NAMESPACE = 77  # how FLOOD ends then
LINK = 'link = "lo"'
SENT_S = 0.5
BPS = 2_000_000


@pytest.fixture
def flood(tmp_path: Path, state: Path) -> Iterator[Stand]:
    """The groups; the program of `batch` sends in a namespace of its own."""
    with stand(tmp_path, batch=FLOOD) as one:
        pid = one.programs["batch"].pid
        if not until(lambda: sent(one) > 1_000_000 or one.programs["batch"].poll() is not None):
            pytest.fail("the program sends nothing")
        if one.programs["batch"].poll() == NO_NAMESPACE:
            pytest.skip(f"no network namespace can be made by process {pid}")
        assert one.programs["batch"].poll() is None, "it has failed"
        one.more = LINK
        yield one


def sent(at: Stand) -> int:
    """Bytes that the program's link has sent so far; 0 while it has none of its own."""
    pid = at.programs["batch"].pid
    if net_space.number(pid) in {"", net_space.number(os.getpid())}:
        return 0
    lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()
    numbers = next(line.partition(":")[2].split() for line in lines if line.strip()[:3] == "lo:")
    return int(numbers[8])


def rate(at: Stand) -> float:
    """What it sends now, bytes/s."""
    before, begun_s = sent(at), time.monotonic()
    until(lambda: False, SENT_S)
    return (sent(at) - before) / (time.monotonic() - begun_s)


def root(at: Stand) -> tuple[str, int]:
    """Kind and handle of the link's root qdisc."""
    pid = at.programs["batch"].pid
    space = net_space.number(pid)
    assert space not in {"", net_space.number(os.getpid())}
    return htb.root_of(Bucket(link="lo", netns=net_space.of_process(pid), major=0, space=space))


def change_root(at: Stand, act: Callable[[Any, int, int], object]) -> None:
    """Somebody else does something to the link's root qdisc, which has a handle."""
    handle = root(at)[1]

    def work() -> None:
        assert not net_space.are_one("thread-self", 1), "never the machine's own links"
        assert not net_space.are_one("thread-self", "self")
        with network.netlink() as route:
            act(route, int(route.link_lookup(ifname="lo")[0]), handle)

    network.inside(net_space.of_process(at.programs["batch"].pid), work)


def test_a_group_sends_no_faster_than_it_may_and_is_free_again_at_the_end(
    flood: Stand, state: Path
) -> None:
    before, seen = root(flood), []
    free = rate(flood)
    steps: list[Callable[[], object]] = [flood.window, flood.window]
    steps += [lambda: seen.append((rate(flood), root(flood)[0])), flood.window]
    played(flood, steps, "static", constants={"egress": BPS})
    ((held, kind),) = seen
    assert kind == "htb"
    assert held < BPS * 1.25 + htb.burst_bytes(BPS) / SENT_S
    assert held > BPS / 2
    assert free > 4 * BPS, "else the test shows nothing"
    assert root(flood) == before
    assert rate(flood) > 4 * BPS
    assert not journals(state)


def test_who_finds_the_journal_of_a_dead_manager_removes_the_bucket(
    flood: Stand, state: Path
) -> None:
    before = root(flood)

    def fail() -> None:
        raise RunFault("a fault", at="here", fix="none")  # nothing is put back

    with pytest.raises(RunFault, match="a fault"):
        played(flood, [flood.window, flood.window, fail], "static", constants={"egress": BPS})
    assert root(flood)[0] == "htb"
    undone_as_of_the_dead(state)
    assert root(flood) == before
    assert not journals(state)


def test_what_is_left_of_a_bucket_goes_with_its_namespace(flood: Stand, state: Path) -> None:
    def fail() -> None:
        raise RunFault("a fault", at="here", fix="none")

    with pytest.raises(RunFault, match="a fault"):
        played(flood, [flood.window, flood.window, fail], "static", constants={"egress": BPS})
    flood.programs["batch"].kill()
    flood.programs["batch"].wait(20)
    undone_as_of_the_dead(state)
    assert not journals(state)


@pytest.mark.parametrize(
    "act",
    [
        lambda route, index, own: route.tc("del", index=index, handle=own, root=True),
        lambda route, index, _: route.tc("replace", "pfifo", index, 0x50000),
    ],
)
def test_a_bucket_that_somebody_else_removes_ends_the_manager(
    act: Callable[[Any, int, int], object], flood: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "READ_S", 0.0)

    def remove() -> None:
        change_root(flood, act)
        soon()

    with pytest.raises(RunFault, match="egress was set to 2000000 bytes/s and reads none"):
        played(flood, [flood.window, flood.window, remove], "static", constants={"egress": BPS})
    assert flood.quota() == pytest.approx(0.05)


def test_a_queue_of_somebody_else_is_left_alone_and_refused_before_the_start(
    flood: Stand, state: Path
) -> None:
    change_root(flood, lambda route, index, _: route.tc("add", "pfifo", index, 0x50000))
    before = flood.snapshot()
    with pytest.raises(HostFault, match="batch lacks a link of its own") as caught:
        played(flood, [flood.window], "static", constants={"egress": BPS})
    assert "lo has a qdisc pfifo already" in caught.value.fix
    assert root(flood) == ("pfifo", 0x50000)
    assert flood.snapshot() == before
    assert not journals(state)


@pytest.mark.parametrize(
    ("more", "fix"),
    [
        ("", 'link = "eth0"'),
        (LINK, "it sends by the machine's links"),
        ('link = "none0"', "the machine's links"),
    ],
)
def test_a_group_without_a_link_of_its_own_is_refused_before_the_start(
    more: str, fix: str, here: Stand, state: Path
) -> None:
    here.more = more
    before = here.snapshot()
    with pytest.raises(HostFault, match="a rate at which a group sends") as caught:
        played(here, [here.window], "static", constants={"egress": BPS})
    assert fix in caught.value.fix
    assert here.snapshot() == before
    assert not here.events()


def test_a_link_that_the_namespace_does_not_have_is_refused(flood: Stand) -> None:
    flood.more = 'link = "eth7"'
    with pytest.raises(HostFault) as caught:
        played(flood, [flood.window], "static", constants={"egress": BPS})
    assert "its network namespace has no link eth7" in caught.value.fix


def test_a_link_by_which_others_send_too_is_refused(flood: Stand) -> None:
    """As in a pod, whose containers share it: the service's replies would be held back."""
    before = root(flood)
    words = ["nsenter", "--net", f"--target={flood.programs['batch'].pid}", "sleep", "60"]
    other = subprocess.Popen(words)
    try:
        space = net_space.number(flood.programs["batch"].pid)
        assert until(lambda: net_space.number(other.pid) == space)
        with pytest.raises(HostFault) as caught:
            played(flood, [flood.window], "static", constants={"egress": BPS})
    finally:
        other.kill()
        other.wait(20)
    text = f"process {other.pid}, which is not of the group, has the same network namespace"
    assert text in caught.value.fix
    assert root(flood) == before


@pytest.mark.parametrize("link", ["", "../lo", "a b", "a" * 16, "e\\n"])
def test_a_link_has_a_name_that_a_link_can_have(link: str) -> None:
    spec = {"role": "best-effort", "cgroup": "/batch", "link": link}
    if not link:
        assert not GroupSpec(**spec).link  # type: ignore[arg-type]
        return
    with pytest.raises(ValueError, match="name of a best-effort group's link"):
        GroupSpec(**spec)  # type: ignore[arg-type]


def test_a_service_has_no_link(here: Stand) -> None:
    text = here.config().read_text().replace('target = "1ms"', f'target = "1ms"\n{LINK}')
    here.config().write_text(text)
    with pytest.raises(SpecFault, match="best-effort group's link"):
        configs.read(here.folder / "manage.toml")


def test_who_sends_more_than_it_may_is_seen_by_what_the_link_counts(flood: Stand) -> None:
    pid = flood.programs["batch"].pid
    on = Turned(label="batch", leader=pid, book=MemoryBook(), tree=TREE, pids=lambda: (pid,))
    spec = GroupSpec(role="best-effort", cgroup="/batch", link="lo")
    one = Sending(Member(spec=spec, on=on, cpus=tuple))
    one.apply(float(BPS))
    try:
        assert [seen(one, flood) for _ in "12"] == ["", ""]
        one.level = BPS / 10  # as if the bucket let through ten times what it may
        assert "MB/s where 0.2 are allowed" in seen(one, flood)
        one.apply(float(BPS))
        assert seen(one, flood) == "", "it begins anew"
    finally:
        assert one.restore() == []
    assert one.over(0.0) == ""


def seen(one: Sending, at: Stand) -> str:
    """What it reports after it has looked for a while."""
    one.over(time.monotonic())
    rate(at)
    return one.over(time.monotonic())


def test_a_process_that_leaves_the_namespace_ends_the_manager(flood: Stand) -> None:
    def join() -> None:
        program = subprocess.Popen([sys.executable, "-I", "-S", "-c", SLEEP])
        flood.programs["other"] = program
        flood.file("batch", "cgroup.procs").write_text(str(program.pid))
        soon()

    with pytest.raises(RunFault, match="has left the group's network namespace"):
        played(flood, [flood.window, flood.window, join], "static", constants={"egress": BPS})


def test_the_journal_names_no_other_namespace() -> None:
    facts = {"link": "lo", "netns": "", "major": egress.MAJORS[0], "space": "/proc/1/ns/net"}
    with pytest.raises(ValueError, match="is not the number of a network namespace"):
        htb.undo(facts)
    assert htb.undo({**facts, "space": "net:[1]"}) is None
