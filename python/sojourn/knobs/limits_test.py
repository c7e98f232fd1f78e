"""Limits that bite, and limits that do not, on this machine's own control groups.

Every knob is shown both ways: turned, it is felt; with an `apply` that writes nothing while what it
reads back lies, it is caught.
"""

from __future__ import annotations

import contextlib
import mmap
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest

from sojourn.errors import HostFault
from sojourn.host.tree import Tree
from sojourn.knobs import (
    KINDS,
    Asked,
    Felt,
    Offered,
    Turned,
    core_sched,
    cpu_quota,
    cpu_weight,
    groups,
    io_limit,
    memory_limit,
    numa,
    rt_quota,
)
from sojourn.knobs.groups_test import FORKING, alive
from sojourn.knobs.limit import Limit, no_effect
from sojourn.knobs.testing import MemoryBook, put

MB = 1_000_000
Make = Callable[[str, str], Limit]
BITING = [
    ("cpu_quota", "20%"),
    ("cpu_quota", "10ms/50ms+5ms"),
    ("cpu_weight", "1000"),
    ("cpu_weight", "10"),
    ("rt_quota", "30%/24ms"),
    ("cpu_idle", "on"),
    ("memory_limit", "64MiB"),
    ("io_limit", "read:4MB/s+write:4MB/s"),
]


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    yield from alive(FORKING)


@pytest.fixture
def book() -> MemoryBook:
    return MemoryBook()


@pytest.fixture
def make(
    server: subprocess.Popen[str], book: MemoryBook, request: pytest.FixtureRequest
) -> Iterator[Make]:
    """Build a knob on the server; skips where this machine lacks what it needs."""
    work = Path(__file__).parent  # on a disk, which a temporary folder may not be
    on = Turned(label="web", leader=server.pid, book=book, work=work)
    made: list[Limit] = []

    def build(name: str, level: str) -> Limit:
        if lack := KINDS[name].lacks(Asked(level=level, work=work)):
            pytest.skip(lack.missing)
        knob = KINDS[name].build(on)
        assert isinstance(knob, Limit)
        made.append(knob)
        return knob

    yield build
    for knob in made:
        knob.restore()
    assert not book.open


def applied(knob: Limit, level: str) -> None:
    """Apply it; real-time budgets of all groups together have a limit, of which others may be."""
    try:
        knob.apply(level)
    except HostFault as fault:
        if isinstance(knob, rt_quota.RtQuota):
            pytest.skip(f"others on this machine hold its real-time budget: {fault.what}")
        raise


@pytest.mark.parametrize(("name", "level"), BITING)
def test_a_limit_is_in_force(make: Make, name: str, level: str) -> None:
    knob = make(name, level)
    assert knob.verify().verdict == "unknown"
    applied(knob, level)
    effect = knob.verify()
    # On a machine that is busy a probe may get too little to tell; never less than that.
    assert effect.verdict in {"holds", "unknown"}, effect.why
    assert effect.verdict == "holds" or "reads back" in effect.why
    assert knob.value(knob.read()) == knob.value(level)
    assert knob.verify() is effect  # it is probed once, then read back


@pytest.mark.parametrize(("name", "level"), BITING)
def test_a_limit_that_writes_nothing_and_lies_about_it_is_caught(
    make: Make, name: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    knob = make(name, level)
    monkeypatch.setattr(knob, "files", lambda value, group: ())
    knob.apply(level)
    assert knob.verify().verdict == "violated"  # it does not even read back
    monkeypatch.setattr(knob, "read_back", lambda group: knob.value(level))
    effect = knob.verify()
    assert effect.verdict in {"violated", "unknown"}, effect.why
    if effect.verdict == "violated":
        assert "the cap had no effect" in effect.why
    elif name == "memory_limit":
        pytest.fail(effect.why)  # it needs no CPU time and no fast disk to be seen


def test_a_service_that_left_its_group_is_named(make: Make) -> None:
    knob = make("cpu_quota", "50%")
    knob.apply("50%")
    group = knob._group
    assert group is not None
    groups.put(group.tree, group.home, knob._on.leader)
    assert knob.verify().verdict == "violated"
    assert str(knob._on.leader) in knob.verify().why


def test_two_knobs_share_a_group_and_each_takes_back_its_own(make: Make) -> None:
    weight, quota = make("cpu_weight", "200"), make("cpu_quota", "50%")
    weight.apply("200")
    quota.apply("50%")
    assert weight._group is quota._group
    quota.restore()
    assert weight.read() == "200"
    assert weight._group is not None
    assert quota.read_back(weight._group)[0] is None


def test_a_group_that_a_containers_runtime_has_removed_is_no_fault(make: Make) -> None:
    weight, quota = make("cpu_weight", "200"), make("cpu_quota", "50%")
    weight.apply("200")
    quota.apply("50%")
    group = quota._group
    assert group is not None
    assert groups.remove(group.tree, group.folder, group.home)
    for knob in (weight, quota):
        knob.restore()
        assert knob.read() == "none"


def test_levels_follow_each_other_and_the_last_one_holds(make: Make) -> None:
    knob = make("cpu_quota", "50%")
    for level in ("50%", "20ms/50ms+10ms", "none", "150%"):
        knob.apply(level)
        assert knob.value(knob.read()) == knob.value(level)


def test_memory_below_what_the_service_holds_is_refused(make: Make) -> None:
    knob = make("memory_limit", "64MiB")
    with pytest.raises(HostFault, match="already"):
        knob.apply("4KiB")


def test_memory_is_counted_in_pages_of_this_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "/proc/7/statm", "100 10 0 0 0 0 0")
    monkeypatch.setattr(mmap, "PAGESIZE", 1 << 16)
    assert memory_limit.rss_bytes(Tree(tmp_path), 7) == 10 << 16
    knob = memory_limit.MemoryLimit(Turned(label="web", leader=1, book=MemoryBook()))
    assert knob.value("100KiB") == 1 << 16


@pytest.mark.parametrize("limit", [64 << 20, 1700 << 20, 8 << 30])
@pytest.mark.parametrize("is_held", [True, False])
def test_a_limit_of_memory_is_in_force_however_large_it_is(
    limit: int,
    is_held: bool,  # noqa: FBT001 - a parameter of the test
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A probe that is held is killed; else it gets all that it wants, however little that is."""
    wants: list[int] = []

    class Wanting:
        pid, was_killed = 1, is_held

        def __init__(self, code: str, want: int) -> None:
            wants.append(want)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            """Nothing ran."""

        def go(self) -> Self:
            return self

        def hear(self) -> dict[str, int]:
            return {} if is_held else {"held": wants[-1]}

    used, left = limit - (600 << 20 if limit > 1 << 30 else 1 << 20), [0, int(is_held)]
    group: Any = SimpleNamespace(tree=Tree(), folder="")
    monkeypatch.setattr(memory_limit, "Probe", Wanting)
    monkeypatch.setattr(groups, "put", lambda *_: None)
    monkeypatch.setattr(memory_limit, "kills", lambda _: left.pop(0))
    monkeypatch.setattr(memory_limit, "used_bytes", lambda _: used + sum(wants))
    monkeypatch.setattr(memory_limit.MemoryLimit, "_unfelt", lambda *_: "")
    knob = memory_limit.MemoryLimit(Turned(label="web", leader=1, book=MemoryBook()))
    effect = knob.bites(limit, group)
    assert effect.verdict == ("holds" if is_held else "violated"), effect.why


@pytest.mark.parametrize(
    ("got", "left", "wanted", "verdict"),
    [
        (0.4, 0.1, 4.0, "holds"),
        (0.25, 0.25, 4.0, "violated"),
        (0.1, 0.4, 0.25, "holds"),
        (0.25, 0.25, 0.25, "violated"),
        (0.01, 0.01, 4.0, "unknown"),
        (0.4, 0.0, 4.0, "holds"),
        (0.0, 0.4, 4.0, "violated"),
    ],
)
def test_a_share_is_judged_by_its_ratio(
    got: float, left: float, wanted: float, verdict: str
) -> None:
    assert cpu_weight.judge(got, left, wanted).verdict == verdict


@pytest.mark.parametrize(
    ("inside", "outside", "verdict"),
    [(4, 100, "holds"), (100, 100, "violated"), (4, 4, "unknown"), (1, 100, "unknown")],
)
def test_a_rate_is_judged_against_that_outside(inside: float, outside: float, verdict: str) -> None:
    effect = io_limit.judge("read", 4 * MB, outside * MB, inside * MB, 0.4)
    assert effect.verdict == verdict


@pytest.mark.parametrize(
    ("pages", "verdict"),
    [({1: 2048}, "holds"), ({0: 2048}, "violated"), ({0: 1, 1: 2047}, "violated"), ({}, "unknown")],
)
def test_pages_are_judged_by_their_node(pages: dict[int, int], verdict: str) -> None:
    assert numa.judge((1,), pages).verdict == verdict


def test_no_window_gives_a_thread_more_than_it_is_long() -> None:
    for quota in (1_000, 50_000, 99_000):
        most = cpu_quota.at_most((quota, 100_000, 0), 500_000, 1)
        assert 5 * quota <= most <= 500_000


@pytest.mark.parametrize(
    ("name", "level", "again"),
    [
        ("cpu_quota", "50%", "50%"),
        ("cpu_quota", "20ms/50ms", "20000us/50000us"),
        ("cpu_quota", "none", "none"),
        ("cpu_weight", "none", "100"),
        ("memory_limit", "1MiB", "1048576B"),
        ("memory_limit", "none", "none"),
        ("io_limit", "10MB/s", "read:10MB/s+write:10MB/s"),
        ("io_limit", "write:5MB/s", "write:5MB/s"),
        ("io_limit", "none", "none"),
        ("numa", "0-1", "0-1"),
    ],
)
def test_what_is_read_is_a_level_that_can_be_applied(name: str, level: str, again: str) -> None:
    kind = KINDS[name]
    knob: Any = kind.build(Turned(label="web", leader=1, book=MemoryBook()))
    assert knob.level(knob.value(level)) == again
    assert re.fullmatch(kind.pattern, again)
    assert knob.value(again) == knob.value(level)


def test_without_a_limit_no_disk_is_needed(tmp_path: Path) -> None:
    tree, group = Tree(tmp_path), SimpleNamespace(version=2)
    on = Turned(label="web", leader=1, book=MemoryBook(), tree=tree, work=tmp_path)
    knob: Any = io_limit.IoLimit(on)
    assert knob.refused({}, group) == ""
    assert knob.files({}, group) == ()
    assert "on no disk" in knob.refused({"read": MB}, group)


def test_a_probe_reports_what_has_no_effect() -> None:
    assert no_effect("x") == Felt(holds=False, why="the cap had no effect: x")


@pytest.mark.parametrize("refusals", [2, 1_000_000])
def test_a_budget_that_another_group_holds_for_a_moment_is_asked_for_again(
    make: Make, monkeypatch: pytest.MonkeyPatch, refusals: int
) -> None:
    knob = make("rt_quota", "load/24ms")
    asked: list[str] = []

    def apply(level: str) -> None:
        asked.append(level)
        if len(asked) <= refusals:
            raise HostFault("Invalid argument", at="web", fix="wait")

    monkeypatch.setattr(knob, "_level", "load/24ms")
    monkeypatch.setattr(knob, "apply", apply)
    monkeypatch.setattr(rt_quota, "RELEASED_S_MAX", 0.05)
    with contextlib.nullcontext() if refusals == 2 else pytest.raises(HostFault):
        knob.among("web", {"web": Offered(load=0.2)})
    assert (len(asked) == 3) is (refusals == 2)


def test_a_budget_by_load_is_what_the_load_is_of_all(make: Make) -> None:
    knob = make("rt_quota", "load/24ms")
    applied(knob, "load/24ms")
    both = {"web": Offered(load=0.2), "other": Offered(load=0.6)}
    for offered, share in ((both, 0.9 / 4), ({"web": both["web"]}, 0.88), ({}, 0.005)):
        try:
            knob.among("web", offered)
        except HostFault as fault:
            pytest.skip(f"others on this machine hold its real-time budget: {fault.what}")
        group = knob.group
        assert group is not None
        assert knob.read_back(group) == (round(share * 24_000), 24_000)
    knob.apply("none")
    assert knob.group is None


def test_a_budget_that_is_longer_than_its_period_is_refused(make: Make) -> None:
    with pytest.raises(HostFault, match="no more than its period"):
        make("rt_quota", "12ms/24ms").apply("48ms/24ms")


def test_what_has_no_real_time_budget_is_reported(tmp_path: Path) -> None:
    put(tmp_path, "/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
    put(tmp_path, "/sys/fs/cgroup/cgroup.controllers", "cpu")
    asked = Asked(level="50%/24ms", tree=Tree(tmp_path))
    lack = rt_quota.lacks(asked)
    assert lack is not None
    assert "cpu.rt_runtime_us" in lack.missing
    assert rt_quota.lacks(Asked(level="none", tree=Tree(tmp_path))) is None


def test_a_cookie_is_given_and_taken_away(server: subprocess.Popen[str], book: MemoryBook) -> None:
    cookies: dict[int, int] = {}

    def kernel(what: int, pid: int, scope: int) -> int:
        """A fake of prctl for one process group."""
        if what == core_sched.GET:
            return cookies.get(pid, 0)
        assert scope == core_sched.GROUP
        cookies[pid] = 7 if what == core_sched.CREATE else 0
        return 0

    knob = core_sched.CoreSched(Turned(label="web", leader=server.pid, book=book), kernel)
    knob.apply("apart")
    assert knob.read() == "apart"
    assert knob._cookie(server.pid) == 7
    knob.restore()
    assert knob.read() == "none"
    assert core_sched.KIND.lacks(Asked(level="none")) is None
