"""The policy of all threads of a named group: in force, followed, and given back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn.errors import HostFault, RunFault
from sojourn.host.tree import Tree
from sojourn.knobs import Turned
from sojourn.knobs.testing import MemoryBook, put
from sojourn.manage import testing
from sojourn.manage.actuators import Member
from sojourn.manage.actuators.policy import ThreadPolicy
from sojourn.manage.config import GroupSpec
from sojourn.manage.daemon_test import here, journals, played, soon, state, undone_as_of_the_dead
from sojourn.manage.testing import BURN, SLEEP, Stand, stand, until
from sojourn.places import proc
from sojourn.places.task import Task

__all__ = ["here", "state"]
pytestmark = pytest.mark.skipif(bool(testing.lack()), reason=testing.lack() or "-")
THREADS = (
    f"import threading, time; threading.Thread(target=time.sleep, args=(600,)).start(); {SLEEP}"
)
PROCS = "cgroup.procs"
OWN_NICE = os.getpriority(os.PRIO_PROCESS, 0)  # which programs of a test inherit


@pytest.fixture
def two(tmp_path: Path, state: Path) -> Iterator[Stand]:
    """The groups; the program of `batch` has two threads."""
    with stand(tmp_path, batch=THREADS) as one:
        assert until(lambda: len(policies(one)) == 2)
        yield one


def policies(at: Stand, group: str = "batch") -> list[tuple[int, int]]:
    """Policy and nice value of each thread of a group's processes."""
    pids = map(int, at.file(group, PROCS).read_text().split())
    tids = [tid for pid in pids for tid, _ in proc.threads(pid)]
    return [(os.sched_getscheduler(tid), os.getpriority(os.PRIO_PROCESS, tid)) for tid in tids]


def cpu_ns(pid: int) -> int:
    """CPU time of a process so far."""
    one = proc.stat(pid)
    assert one is not None
    return one.cpu_ns


def started(at: Stand, code: str = SLEEP) -> subprocess.Popen[bytes]:
    """A program that is moved into `batch` after it has started, and ends with the test."""
    program = subprocess.Popen([sys.executable, "-I", "-S", "-c", code])
    at.programs[f"later {program.pid}"] = program
    at.file("batch", PROCS).write_text(str(program.pid))
    return program


@pytest.mark.parametrize(
    ("constants", "wanted"),
    [
        ({"sched_idle": 1}, (os.SCHED_IDLE, OWN_NICE)),
        ({"sched_batch": 1}, (os.SCHED_BATCH, 0)),
        ({"nice": 7}, (os.SCHED_OTHER, 7)),
    ],
)
def test_all_threads_have_it_and_so_does_one_that_comes_later(
    constants: dict[str, float], wanted: tuple[int, int], two: Stand, state: Path
) -> None:
    seen: list[object] = []

    def look() -> None:
        seen.append((set(policies(two)), len(policies(two)), set(policies(two, "web"))))
        started(two)

    steps: list[Callable[[], object]] = [two.window, look, soon, two.window, look]
    played(two, steps, "static", constants=constants)
    usual = (os.SCHED_OTHER, OWN_NICE)
    assert seen == [({wanted}, 2, {usual}), ({wanted}, 3, {usual})]
    assert set(policies(two)) == {usual}
    assert len(policies(two)) == 4
    assert not journals(state)


def test_who_finds_the_journal_of_a_dead_manager_gives_every_thread_its_own(
    two: Stand, state: Path
) -> None:
    pid = two.programs["batch"].pid
    os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0))
    before = policies(two)

    def fail() -> None:
        raise RunFault("a fault", at="here", fix="none")  # nothing is put back

    with pytest.raises(RunFault, match="a fault"):
        played(two, [two.window, two.window, fail], "static", constants={"sched_idle": 1})
    assert {policy for policy, _ in policies(two)} == {os.SCHED_IDLE}
    (path,) = journals(state)
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    ticks = [one["at_ticks"] for one in entries if '"policy"' in json.dumps(one)]
    assert ticks
    assert min(ticks) > 0, "heirs are put back"
    undone_as_of_the_dead(state)
    assert policies(two) == before
    assert not journals(state)


def test_a_thread_that_had_the_policy_by_itself_has_it_at_the_end(two: Stand, state: Path) -> None:
    own, other = started(two), started(two)
    os.sched_setscheduler(own.pid, os.SCHED_BATCH, os.sched_param(0))
    seen: list[set[int]] = []

    def look() -> None:
        soon()
        seen.append({policy for policy, _ in policies(two)})
        two.window()

    played(two, [two.window, two.window, look, two.window], "static", constants={"sched_batch": 1})
    assert seen == [{os.SCHED_BATCH}]
    assert os.sched_getscheduler(own.pid) == os.SCHED_BATCH
    assert os.sched_getscheduler(other.pid) == os.SCHED_OTHER
    assert not journals(state)


def by_hand(at: Stand, book: MemoryBook) -> ThreadPolicy:
    """The policy of the processes that are in `batch` now."""
    procs, leader = at.file("batch", PROCS), at.programs["batch"].pid
    on = Turned(
        label="batch", leader=leader, book=book, pids=lambda: map(int, procs.read_text().split())
    )
    return ThreadPolicy(Member(spec=GroupSpec(role="best-effort", cgroup="/b"), on=on, cpus=tuple))


def test_a_thread_has_its_own_again_after_several_levels(two: Stand) -> None:
    own, book = started(two), MemoryBook()
    os.sched_setscheduler(own.pid, os.SCHED_BATCH, os.sched_param(0))
    before, one = policies(two), by_hand(two, book)
    for level in ("batch", "idle", "nice:3", "batch"):
        one.apply(level)
        assert one.lies() == ""
    started(two)
    assert one.lies() == ""
    assert {policy for policy, _ in policies(two)} == {os.SCHED_BATCH}
    assert len(policies(two)) == len(before) + 1
    assert one.restore() == []
    assert sorted(policies(two)) == sorted([*before, (os.SCHED_OTHER, OWN_NICE)])
    assert not book.open


def test_a_thread_that_comes_while_it_is_asked_is_no_lie(
    two: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes after the group was listed, and has the policy at the next look."""
    one, listed = by_hand(two, MemoryBook()), Turned.tasks
    one.apply("idle")

    def tasks(self: Turned) -> tuple[Task, ...]:
        result = listed(self)
        started(two)
        return result

    monkeypatch.setattr(Turned, "tasks", tasks)
    try:
        assert [one.lies() for _ in range(3)] == [""] * 3
        monkeypatch.setattr(Turned, "tasks", listed)
        assert one.lies() == ""
        assert {policy for policy, _ in policies(two)} == {os.SCHED_IDLE}
        os.sched_setscheduler(two.programs["batch"].pid, os.SCHED_OTHER, os.sched_param(0))
        assert "1 of 5 threads are without it" in one.lies()
    finally:
        assert one.restore() == []


def test_a_thread_that_somebody_else_sets_back_ends_the_manager(two: Stand) -> None:
    pid = two.programs["batch"].pid

    def set_back() -> None:
        os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
        soon()

    with pytest.raises(RunFault, match="1 of 2 threads are without it"):
        played(two, [two.window, two.window, set_back], "static", constants={"sched_idle": 1})
    assert two.quota() == pytest.approx(0.05)


def test_a_real_time_thread_heeds_a_quota_as_soon_as_its_policy_is_idle(
    tmp_path: Path, state: Path
) -> None:
    """A policy is seen by what a quota then does, which holds no real-time thread."""
    with stand(tmp_path, batch=BURN) as one:
        pid, allowed = one.programs["batch"].pid, one.file("batch", "cpu.rt_runtime_us")
        if allowed.exists():  # of a kernel with RT_GROUP_SCHED; at first it is 0
            allowed.write_text("900000")
        try:
            os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))
        except PermissionError:
            pytest.skip("this kernel lets no thread of a group be real-time (RT_GROUP_SCHED)")
        shares: list[float] = []

        def look() -> None:
            begun_ns, at = cpu_ns(pid), time.monotonic()
            until(lambda: False, 0.5)
            shares.append((cpu_ns(pid) - begun_ns) / 1e9 / (time.monotonic() - at))

        steps: list[Callable[[], object]] = [one.window, look]
        played(one, steps, "static", constants={"quota": 0.2})
        played(one, steps, "static", constants={"quota": 0.2, "sched_idle": 1})
        assert os.sched_getscheduler(pid) == os.SCHED_RR
        assert shares[0] > 0.4, "else a quota held it already, and the test shows nothing"
        assert shares[1] < 0.4


def test_without_the_right_to_give_it_back_it_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "/proc/self/status", "CapEff:\t0000000000000000")
    on = Turned(label="batch", leader=0, book=MemoryBook(), tree=Tree(tmp_path), pids=tuple)
    spec = GroupSpec(role="best-effort", cgroup="/batch")
    one = ThreadPolicy(Member(spec=spec, on=on, cpus=tuple))
    lack = one.lack()
    assert lack is not None
    assert "CAP_SYS_NICE" in lack.missing
    with pytest.raises(ValueError, match="CAP_SYS_NICE"):
        one.apply("idle")
    assert one.level is None


def test_a_rule_that_asks_for_it_is_refused_before_the_start_without_the_right(
    here: Stand, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sojourn.manage.actuators.policy.SYS_NICE", 63
    )  # a right that does not exist
    before = here.snapshot()
    with pytest.raises(HostFault, match="CAP_SYS_NICE"):
        played(here, [here.window], "static", constants={"sched_idle": 1})
    assert here.snapshot() == before
    assert not here.events()
    played(here, [here.window], "static", constants={"quota": 0.5})
