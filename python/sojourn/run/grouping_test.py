"""How tasks are grouped: real programs in this machine's control groups, where it lets us."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sojourn.errors import HostFault
from sojourn.host import grouping as read
from sojourn.host.tree import Tree
from sojourn.knobs import KINDS, Asked, Turned, groups
from sojourn.knobs.groups import Group
from sojourn.knobs.testing import MemoryBook, put
from sojourn.places import process
from sojourn.places.process import Process
from sojourn.run import grouping
from sojourn.run.grouping import CLIENT, NESTED, OWN, SESSION, SHARED, Companions
from sojourn.run.scene_test import study
from sojourn.run.shield import Wish

NEIGHBOUR = "spin:server"
Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts programs as the lab does, in sessions of their own; they are killed at the end."""
    with ExitStack() as running:

        def begin(folders: Sequence[Path] = ()) -> Process:
            one = process.start(
                "x",
                ["/bin/sleep", "600"],
                cwd=tmp_path,
                ledger=MemoryBook(),
                log=tmp_path / "log",
                groups=folders,
            )
            running.callback(one.stop)
            return one

        yield begin


@pytest.fixture(name="book")
def _book() -> MemoryBook:
    return MemoryBook()


def service(leader: int, book: MemoryBook, how: str, **more: Any) -> Any:
    return SimpleNamespace(
        turned=Turned(label="web", leader=leader, book=book),
        groups=how,
        ungrouped="",
        levels=more.get("levels", {}),
        wish=Wish(name="none", refused=more.get("refused", "none")),
        ungroup=lambda: None,
        process=SimpleNamespace(pid=leader),
    )


def needs_groups() -> None:
    if lack := groups.lacking(Asked(level=""), "cpu"):
        pytest.skip(lack.missing)


def group(pid: int | None = None) -> str:
    return read.read(Tree(), pid).cgroup


@pytest.mark.parametrize("how", [OWN, SESSION, SHARED, NESTED])
def test_each_party_is_where_it_was_asked_to_be_and_nothing_is_left(
    how: str, start: Start, book: MemoryBook
) -> None:
    needs_groups()
    live, beside = service(start().pid, book, how), Companions(how, book)
    grouping.begin(live)
    assert not live.ungrouped
    client, first, second = (start(beside.place(p, live)) for p in (CLIENT, NEIGHBOUR, NEIGHBOUR))
    beside.admit(CLIENT, client)
    beside.admit(NEIGHBOUR, first)
    report = beside.admit(NEIGHBOUR, second)
    at = {pid: group(pid) for pid in (live.turned.leader, client.pid, first.pid, second.pid)}
    own, its, others = at[live.turned.leader], at[client.pid], at[first.pid]
    assert at[second.pid] == others, "one neighbour is one party"
    apart = {OWN: {own, its, others}, NESTED: {own, others}, SHARED: {own}}.get(how, {group()})
    assert {*at.values()} == apart
    assert len(apart) == {OWN: 3, NESTED: 2}.get(how, 1)
    assert (group() in apart) == (how == SESSION)
    assert (own == its) == (how != OWN)
    assert report["asked"] == how
    assert [report[party]["cgroup"] for party in (CLIENT, NEIGHBOUR)] == [its, others]
    assert not any("refused" in report[party] for party in (CLIENT, NEIGHBOUR))
    facts = grouping.facts(live)
    assert (facts["asked"], facts["cgroup"], facts["refused"]) == (how, own, "")
    beside.leave()
    live.ungroup()
    assert {group(pid) for pid in at} == {group()}
    assert not book.open


def test_a_client_of_its_own_goes_before_others_by_the_weight_of_its_group(
    start: Start, book: MemoryBook
) -> None:
    needs_groups()
    beside = Companions(OWN, book)
    pid = start(beside.place(CLIENT, None)).pid
    result = groups.find(Tree(), "cpu")
    assert result is not None
    name, text = grouping.FIRST[result.version]
    assert Tree().text(f"{result.folder(Tree(), pid)}/{name}") == text
    beside.leave()
    assert not book.open


def test_what_a_knob_limits_is_the_same_group(start: Start, book: MemoryBook) -> None:
    needs_groups()
    live = service(start().pid, book, OWN)
    grouping.begin(live)
    at = group(live.turned.leader)
    weight = KINDS["cpu_weight"].build(live.turned)
    weight.apply("200")
    assert group(live.turned.leader) == at
    weight.restore()
    assert group(live.turned.leader) == at, "it stays in its own group"
    policy = KINDS["policy"].build(live.turned)
    policy.apply("nice:5")
    result = groups.find(Tree(), "cpu")
    assert result is not None
    folder = result.folder(Tree(), live.turned.leader)
    file = "cpu.shares" if result.version == 1 else "cpu.weight.nice"
    assert Tree().text(f"{folder}/{file}") == ("336" if result.version == 1 else "5")
    policy.restore()
    assert Tree().text(f"{folder}/{file}") == ("1024" if result.version == 1 else "0")
    live.ungroup()
    assert not book.open


def test_nothing_is_shared_where_the_service_has_no_group(start: Start, book: MemoryBook) -> None:
    for how in (SHARED, NESTED):
        beside = Companions(how, book)
        assert beside.place(CLIENT, None) == ()
        assert "no group" in beside.admit(CLIENT, start())[CLIENT]["refused"]
    assert not book.open


def test_real_time_stays_out_of_groups_that_would_refuse_it(
    start: Start, book: MemoryBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "_has_budgets", lambda _tree: True)
    pid = start().pid
    for more in ({"refused": ""}, {"levels": {"policy": "fifo:1"}}, {"levels": {"rt_quota": "x"}}):
        live = service(pid, book, OWN, **more)
        grouping.begin(live)
        assert "real-time" in live.ungrouped
        assert "because its threads have real-time" in grouping.grouping_text(grouping.facts(live))
    assert group(pid) == group()
    assert not book.open


def facts_of(root: Path) -> Any:
    return SimpleNamespace(root=str(root))


def test_only_what_is_asked_for_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "/proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup ro - cgroup2 x rw")
    put(tmp_path, "/proc/self/cgroup", "0::/")
    put(tmp_path, "/sys/fs/cgroup/cgroup.controllers", "cpu")
    here = facts_of(tmp_path)
    grouping.check(study(), here, is_varied=False)
    grouping.check(study(groups=SESSION), here, is_varied=True)
    for how, is_varied in ((OWN, True), (SHARED, False), (NESTED, False)):
        with pytest.raises(HostFault, match="mounted read-only") as caught:
            grouping.check(study(groups=how), here, is_varied=is_varied)
        assert caught.value.at == "groups"
        assert "as root" not in caught.value.fix


@pytest.mark.parametrize(
    ("cgroup", "auto", "by"),
    [
        ("0::/\n3:cpu:/a/b\n", "1", "control group"),
        ("0::/a.slice\n", "1", "control group"),
        ("0::/a.slice\n3:cpu,cpuacct:/\n", "1", "session"),
        ("0::/\n", "0", "nothing"),
        ("", "1", "session"),
        ("garbage\n:\n", "\0", "nothing"),
    ],
)
def test_the_kernel_goes_by_the_controller_then_by_the_session(
    cgroup: str, auto: str, by: str, tmp_path: Path
) -> None:
    put(tmp_path, "/proc/7/cgroup", cgroup)
    put(tmp_path, "/proc/7/autogroup", "/autogroup-70 nice 0")
    put(tmp_path, "/proc/7/stat", "7 (a b) S 1 7 42 0")
    put(tmp_path, read.ENABLED, auto)
    text = read.read(Tree(tmp_path), 7)
    assert (text.by, text.session, text.autogroup) == (by, 42, "autogroup-70 nice 0")
    assert text.text
    assert read.read(Tree(tmp_path), 8).by == "nothing"


@pytest.mark.parametrize(
    ("left_us", "given_us"), [(950_000, 40_000), (30_000, 24_000), (10_000, 10_000)]
)
def test_a_client_gets_the_largest_budget_of_real_time_that_is_left(
    left_us: int, given_us: int
) -> None:
    """A fake group: the kernel refuses a budget beyond what others have left."""
    files: dict[str, str] = {}

    def write(name: str, text: str) -> None:
        if int(text) > left_us:
            raise OSError(errno.EINVAL, "Invalid argument")
        files[name] = text

    fake = cast("Group", SimpleNamespace(write=write))
    grouping.give_real_time(fake)
    assert files == {grouping.BUDGET: str(given_us)}
    left_us = 9_999
    with pytest.raises(OSError, match="Invalid argument"):
        grouping.give_real_time(fake)


def test_the_thread_that_logs_a_cpu_has_budget_for_what_it_takes(book: MemoryBook) -> None:
    """Where the kernel counts real-time by group: 1 % is less than it takes."""
    needs_groups()
    beside = Companions(OWN, book)
    try:
        (folder,) = beside.place(CLIENT, None)
        budget = folder / grouping.BUDGET
        if not budget.exists():
            pytest.skip("this kernel counts no real-time by control group")
        others = [group / grouping.BUDGET for group in folder.parent.iterdir() if group != folder]
        used = sum(int(other.read_text("ascii")) for other in others if other.exists())
        if used + 24_000 > int((folder.parent / grouping.BUDGET).read_text("ascii")):
            pytest.skip("other groups have the real-time of this machine")
        assert int(budget.read_text(encoding="ascii")) >= 24_000
    finally:
        beside.leave()
