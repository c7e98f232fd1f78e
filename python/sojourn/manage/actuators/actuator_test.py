"""What is the same for every actuator: refusals, effects, who has them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn.controllers.look import Allocation, Level
from sojourn.controllers.testing import look
from sojourn.errors import HostFault, RunFault
from sojourn.host.tree import Tree
from sojourn.knobs import Lack, Turned
from sojourn.knobs.testing import MemoryBook
from sojourn.manage import absent, actuators, parts
from sojourn.manage.actuators import KINDS, Actuator, Member
from sojourn.manage.bites import Bites
from sojourn.manage.config import Config, GroupSpec
from sojourn.manage.daemon_test import (
    here,
    journals,
    made_anew,
    needs_groups,
    played,
    soon,
    state,
    undone_as_of_the_dead,
    vanished,
)
from sojourn.manage.groups import Managed
from sojourn.manage.testing import TREE, Stand, stand, until
from sojourn.places import proc

__all__ = ["here", "state"]
#: Starts a child at SIGUSR1, which has its policy.
PARENT = """
import os, signal, time
def start(*_):
    if not os.fork():
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        time.sleep(600)
signal.signal(signal.SIGUSR1, start)
while True:
    time.sleep(600)
"""


class Half(Actuator):
    """Takes half of what it is given to do."""

    knob = "ways"
    is_over, refuses, missing, left = True, "", "", ""
    fails: Exception | None = None

    def lack(self) -> Lack | None:
        return Lack(missing=self.missing, fix="buy it") if self.missing else None

    def put(self, level: Level) -> None:
        if self.refuses:
            raise HostFault(self.refuses, at="here", fix="none")

    def differs(self) -> str:
        if self.refuses:
            raise HostFault(self.refuses, at="here", fix="none")
        return ""

    def over(self, t_s: float) -> str:
        return "it takes twice as much" if self.is_over else ""

    def take_off(self) -> str:
        if self.fails:
            raise self.fails
        return self.left


@pytest.fixture
def half() -> Half:
    on = Turned(label="batch", leader=0, book=MemoryBook(), pids=tuple)
    spec = GroupSpec(role="best-effort", cgroup="/batch")
    return Half(Member(spec=spec, on=on, cpus=tuple))


def test_a_refusal_of_any_kind_is_one_that_a_group_can_report(half: Half) -> None:
    half.apply(3)
    assert half.level == 3
    half.refuses = "the kernel says no"
    with pytest.raises(OSError, match="the kernel says no"):
        half.apply(2)
    half.refuses, half.missing = "", "a cache"
    with pytest.raises(ValueError, match="it lacks a cache: buy it"):
        half.apply(2)
    assert half.level == 3, "as it was"
    half.left = "stuck"
    with pytest.raises(OSError, match="stuck"):
        half.apply(None)
    assert half.restore() == ["stuck"]


def test_a_refusal_while_it_is_asked_or_put_back_is_named_and_ends_nothing_else(half: Half) -> None:
    half.apply(3)
    half.refuses = "threads come too fast"
    assert half.lies() == "ways: threads come too fast"
    for fails in (OSError(5, "Input/output error"), HostFault("a word", at="", fix="")):
        half.fails = fails
        (why,) = half.restore()
        assert why == f"ways: {getattr(fails, 'strerror', None) or 'a word'}"
    assert half.lies() == "", "nothing is set any more"


def test_what_does_not_bite_for_two_seconds_is_reported(half: Half) -> None:
    spec = GroupSpec(role="best-effort", cgroup="/batch")
    one = Managed("batch", spec, (0,), TREE, actuators={"ways": half})
    bites = Bites()
    said = [bites.exceeded(one, look(t_s)) for t_s in (10.0, 11.9, 12.0)]
    assert said == ["", "", "it takes twice as much, for 2 s"]
    half.is_over = False
    assert bites.exceeded(one, look(12.1)) == ""
    half.is_over = True
    assert bites.exceeded(one, look(12.2)) == "", "it begins anew"


def test_a_service_has_none() -> None:
    on = Turned(label="web", leader=0, book=MemoryBook(), pids=tuple)
    web = GroupSpec(role="latency-critical", cgroup="/web", target="1ms")
    assert actuators.of(Member(spec=web, on=on, cpus=tuple)) == {}
    batch = GroupSpec(role="best-effort", cgroup="/batch")
    every = actuators.of(Member(spec=batch, on=on, cpus=tuple))
    assert {*every} == {kind.knob for kind in KINDS}
    assert {*every} <= {*Allocation.model_fields}


@pytest.mark.parametrize(("count", "has"), [(1, True), (2, False)])
def test_the_frequency_is_of_one_best_effort_group(
    count: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, has: bool
) -> None:
    monkeypatch.setattr(Managed, "can", lambda _self: {"frequency", "quota"})
    specs = {f"b{i}": GroupSpec(role="best-effort", cgroup=f"/b{i}") for i in range(count)}
    specs["web"] = GroupSpec(role="latency-critical", cgroup="/web", target="1ms")
    groups = {name: Managed(name, spec, (0, 1), Tree(tmp_path)) for name, spec in specs.items()}
    config = Config(controller="null", groups=specs)
    assert ("frequency" in parts._present(config, groups, None)) is has
    assert "quota" in parts._present(config, groups, None)
    assert ("frequency" in parts._reasons(groups)) is not has


@needs_groups
def test_a_child_that_inherited_a_policy_is_given_back_its_own_after_a_death(
    tmp_path: Path, state: Path
) -> None:
    with stand(tmp_path, batch=PARENT) as one:
        pid = one.programs["batch"].pid
        assert until(lambda: Path(f"/proc/{pid}/wchan").exists())
        until(lambda: False, 0.3)  # until it has its handler

        def start() -> None:
            os.kill(pid, 10)
            assert until(lambda: len(proc.family(pid)) == 2)
            soon()

        def fail() -> None:
            raise RunFault("a fault", at="here", fix="none")  # nothing is put back

        steps: list[Callable[[], object]] = [one.window, one.window, start, one.window, fail]
        with pytest.raises(RunFault, match="a fault"):
            played(one, steps, "static", constants={"sched_idle": 1})
        pids = [member.pid for member in proc.family(pid)]
        try:
            assert [os.sched_getscheduler(each) for each in pids] == [os.SCHED_IDLE] * 2
            undone_as_of_the_dead(state)
            assert [os.sched_getscheduler(each) for each in pids] == [os.SCHED_OTHER] * 2
            assert not journals(state)
        finally:
            for each in pids[1:]:
                os.kill(each, 9)


@needs_groups
def test_a_group_that_is_made_anew_has_the_policy_again(
    here: Stand, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absent, "BACK_S", 0.1)
    seen: list[set[int]] = []

    def note() -> None:
        pids = here.file("batch", "cgroup.procs").read_text().split()
        seen.append({os.sched_getscheduler(int(pid)) for pid in pids})
        here.window()

    def wait() -> None:
        until(lambda: False, 0.15)
        here.window()

    steps: list[Callable[[], object]] = [here.window, note, lambda: vanished(here), here.window]
    steps += [lambda: made_anew(here), note, wait, wait, note, here.window]
    played(here, steps, "static", constants={"sched_batch": 1}, silent_s=20.0)
    assert seen == [{os.SCHED_BATCH}, {os.SCHED_OTHER}, {os.SCHED_BATCH}]
    pids = here.file("batch", "cgroup.procs").read_text().split()
    assert {os.sched_getscheduler(int(pid)) for pid in pids} == {os.SCHED_OTHER}
    assert not journals(state)
