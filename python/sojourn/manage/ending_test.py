"""How a manager begins and ends where something else fails; on real groups."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.controllers.look import Look
from sojourn.errors import HostFault, RunFault
from sojourn.host.tree import Tree
from sojourn.knobs import groups as knob_groups
from sojourn.knobs.testing import MOUNT, FakeV2, put
from sojourn.manage import checks, ending, log, members, testing
from sojourn.manage import config as configs
from sojourn.manage.audit import Audit
from sojourn.manage.config import GroupSpec
from sojourn.manage.daemon import Manager
from sojourn.manage.daemon_test import here, journals, played, state
from sojourn.manage.feed import Feed
from sojourn.manage.groups import Managed
from sojourn.manage.metrics import Metrics
from sojourn.manage.pair import Pair
from sojourn.manage.rounds import Rounds
from sojourn.manage.testing import TREE, Stand
from sojourn.manage.trouble import unless_paused
from sojourn.manage.watch import Watch
from sojourn.run.journal import Journal

__all__ = ["here", "state"]
pytestmark = pytest.mark.skipif(bool(testing.lack()), reason=testing.lack() or "-")
SAFE = 0.05


def full(handle: int, text: bytes) -> None:
    """A write to a disk without space."""
    del handle, text
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def full_at(monkeypatch: pytest.MonkeyPatch, event: str) -> None:
    """The disk is full when this event is to be written, and from then on."""
    real = Audit.say

    def say(audit: Audit, this: str, **facts: Any) -> None:
        if this == event:
            monkeypatch.setattr(log, "put", full)
        real(audit, this, **facts)

    monkeypatch.setattr(Audit, "say", say)


def test_a_log_that_cannot_be_begun_leaves_nothing_changed(
    here: Stand, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = here.snapshot()
    full_at(monkeypatch, "start")
    with pytest.raises(RunFault, match="the disk is full"):
        played(here, [here.window], "static", constants={"quota": 0.3})
    assert here.snapshot() == before
    assert not journals(state)
    assert not testing.until(lambda: here.quota() == SAFE, 0.3), "the warden has ended, too"


def test_everything_is_back_at_the_end_although_the_log_is_full(
    here: Stand, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = here.snapshot()
    full_at(monkeypatch, "late")
    late_s = iter((0.0, 0.0, 0.0, 3.0))
    monkeypatch.setattr(Rounds, "late_s", lambda *_: next(late_s))
    with pytest.raises(RunFault, match="the disk is full"):
        played(here, [here.window] * 3, "static", constants={"quota": 0.3})
    assert not [one for one in here.events() if one["event"] == "capped"]
    assert here.snapshot() == before
    assert not journals(state)


def test_a_record_that_cannot_be_written_means_safe_caps_and_says_why(
    here: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = log.put
    looks = here.folder / "looks.jsonl"

    looks.touch()

    def put(handle: int, text: bytes) -> None:
        is_looks = os.path.samestat(os.fstat(handle), looks.stat())
        (full if is_looks else real)(handle, text)

    monkeypatch.setattr(log, "put", put)
    with pytest.raises(RunFault, match="the disk is full") as caught:
        played(here, [here.window], "null", record=str(looks))
    assert caught.value.at == str(looks)
    assert here.quota() == SAFE
    assert here.events()[-1]["reason"] == "the disk is full"


def test_one_look_makes_no_file_and_changes_nothing(here: Stand) -> None:
    before, looks = here.snapshot(), here.folder / "looks.jsonl"
    config = configs.read(here.config("static", constants={"quota": 0.3}, record=str(looks)))
    _, decision = Manager(config, Audit(None, lambda _line: None), None).once()
    assert [change.level for change in decision.changes] == [0.3]
    assert not looks.exists()
    assert not here.audit.exists()
    assert here.snapshot() == before


def test_a_group_that_is_made_anew_while_services_are_measured_alone_is_capped(
    here: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    quotas: list[float | None] = []
    real = Watch.look

    def look(watch: Watch, source: Feed | None) -> Look:
        here.window()
        quotas.append(here.quota())
        result = real(watch, source)
        if len(quotas) == 1:  # as of one that was taken again
            assert watch.groups["batch"].apply("quota", None) == ""
            watch.has_returned = True
        return result

    monkeypatch.setattr(Watch, "look", look)
    played(here, [], "null", check_s=0.5)
    assert quotas[:2] == [SAFE, SAFE]
    assert here.quota() is None


def test_a_pause_at_the_end_of_the_measurement_alone_is_no_fault(
    here: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The warden has set the caps again, so the quota from before does not read back."""
    real, calls, heard = Manager._resume, list[str](), iter(("capped",))

    def resume(one: Manager) -> None:
        calls.append("")
        if len(calls) == 1:
            monkeypatch.setattr(Pair, "beat", lambda _guard: next(heard, ""))
            raise checks.refused("batch", "its quota back", "it reads another one")
        real(one)

    monkeypatch.setattr(Manager, "_resume", resume)
    played(here, [here.window] * 3, "null", check_s=0.2)
    events = [one["event"] for one in here.events()]
    assert [events.count(one) for one in ("capped", "resume")] == [2, 1], "and for the measurement"
    assert here.quota() is None


def test_everything_is_back_at_the_end_although_the_journal_cannot_be_written(
    here: Stand, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, real = here.snapshot(), Journal.undone

    def undone(journal: Journal, entry: int) -> None:
        real(journal, entry)
        raise RunFault("the disk is full", at=str(journal.path), fix="-")

    def fill() -> None:
        here.window()
        monkeypatch.setattr(Journal, "undone", undone)

    steps: list[Callable[[], object]] = [here.window, here.window, fill]
    played(here, steps, "static", constants={"quota": 0.3, "weight": 50})
    assert here.snapshot() == before
    assert not journals(state)


def test_a_group_that_cannot_be_put_back_keeps_no_other_from_it() -> None:
    seen: list[str] = []

    class One:
        def __init__(self, name: str) -> None:
            self.name = name

        def restore(self) -> list[str]:
            seen.append(self.name)
            if self.name == "a":
                raise RunFault("it is broken", at="-", fix="-")
            return [f"{self.name} is stuck"]

        abandon = restore

    ones: Any = [One("a"), One("b")]
    assert ending.restored(ones) == ending.abandoned(ones) == ["a: it is broken", "b is stuck"]
    assert seen == ["a", "b"] * 2


def test_a_manager_is_refused_that_would_cap_itself(
    here: Stand, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, real = here.snapshot(), members.pids

    def pids(tree: Tree, folder: str) -> tuple[int, ...]:
        more = (os.getpid(),) if folder.endswith("-batch") else ()
        return (*real(tree, folder), *more)

    monkeypatch.setattr(members, "pids", pids)
    with pytest.raises(HostFault, match="the manager itself is in batch"):
        played(here, [here.window], "null")
    assert here.snapshot() == before
    assert not journals(state)


def test_cpus_that_the_machine_does_not_have_are_refused(here: Stand) -> None:
    with pytest.raises(HostFault, match="this machine has no CPU 60000-60001"):
        played(here, [here.window], "null", cpus="0,60000-60001")
    assert not here.events()


@pytest.mark.parametrize("is_inner_first", [True, False])
def test_a_group_within_one_that_has_a_manager_has_no_other(
    here: Stand, *, is_inner_first: bool
) -> None:
    inner = f"{here.paths['batch']}/inner"
    folders = testing.make_group(inner)
    cpu = knob_groups.find(TREE, "cpu")
    assert cpu is not None
    spec = {"role": "best-effort", "cgroup": here.paths["batch"]}
    outer = Managed("outer", GroupSpec.model_validate(spec), (0,), TREE)
    own = Managed("own", GroupSpec.model_validate({**spec, "cgroup": inner}), (0,), TREE)
    first, second = (own, outer) if is_inner_first else (outer, own)
    journal = Journal.create()
    try:
        for one in (first, second):
            one.find()
        first.take(journal)
        with pytest.raises(HostFault, match="another manager has the control group"):
            second.take(journal)
        assert second.restore() == first.restore() == []
        second.take(journal)
        assert second.restore() == []
    finally:
        journal.close()
        for folder in folders:
            testing.remove_group(folder)


def test_a_group_without_a_controller_that_matters_is_not_said_to_be_missing(
    tmp_path: Path,
) -> None:
    fake = FakeV2(tmp_path, (), handed="cpu")
    put(tmp_path, f"{MOUNT}/web/cgroup.procs", "")
    put(tmp_path, f"{MOUNT}/web/cgroup.controllers", "memory pids")
    spec = GroupSpec(role="latency-critical", cgroup="/web", target="1ms")
    with pytest.raises(HostFault, match="/web has neither the controller cpu nor cpuset") as caught:
        Managed("web", spec, (0,), fake.tree).find()
    assert "systemctl set-property UNIT CPUWeight=100" in caught.value.fix
    spec = GroupSpec(role="latency-critical", cgroup="/none", target="1ms")
    with pytest.raises(HostFault, match="there is no control group /none"):
        Managed("web", spec, (0,), fake.tree).find()


def test_metrics_name_the_rule_that_a_reload_brought_and_no_caps_of_a_dry_run(
    here: Stand,
) -> None:
    path, seen = here.config("null", silent_s=60.0), list[tuple[str, bool]]()
    metrics = Metrics("null")
    for book in (Journal.create(), None):
        manager = Manager(configs.read(path), Audit(None, lambda _: None), book, metrics=metrics)
        manager.fresh = lambda: configs.read(path)

        def rounds(one: Manager = manager) -> Iterator[None]:
            for i in range(2):
                if i:
                    path.write_text(path.read_text().replace('"null"', '"static"'))
                    path.write_text(path.read_text().replace("silent_s = 60.0", "silent_s = 0.2"))
                    one.asked.ask()
                    testing.until(lambda: False, 0.3)
                yield
            testing.until(lambda: False, 0.3)
            yield
            seen.append((metrics.controller, metrics.is_capped))

        manager.run(rounds)
        if book is not None:
            book.close()
    assert seen == [("static", True), ("static", False)]


@pytest.mark.parametrize(("heard", "ends"), [("capped", False), ("", True), ("gone", True)])
def test_a_pause_between_two_steps_is_no_fault_of_a_knob(heard: str, *, ends: bool) -> None:
    """The warden has set the caps meanwhile, so what the manager sets does not read back."""
    config: Any = SimpleNamespace(paused_s=5.0)
    guard: Any = SimpleNamespace(beat=lambda: heard)

    def act() -> None:
        raise checks.refused("batch", "egress 1000", "quota was set to 40000 us and reads 5000 us")

    if ends:
        with pytest.raises(RunFault, match="cannot be given" if not heard else "has ended"):
            unless_paused(act, guard, config)
    else:
        assert unless_paused(act, guard, config) == "the manager was paused for more than 5 s"
    assert unless_paused(lambda: None, guard, config) == ""
