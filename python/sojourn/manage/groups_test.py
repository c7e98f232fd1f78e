"""A managed group on a made-up version 2 (a fake): levels and locks."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn.disk import tree
from sojourn.errors import HostFault
from sojourn.host.tree import Tree
from sojourn.knobs import groups as knob_groups
from sojourn.knobs import settings
from sojourn.knobs.testing import MOUNT, FakeV2, MemoryBook, put
from sojourn.manage import members, testing
from sojourn.manage.absent import BACK_S, Absent
from sojourn.manage.config import GroupSpec
from sojourn.manage.groups import Managed

BATCH = f"{MOUNT}/batch"
MAX, WEIGHT, IDLE = f"{BATCH}/cpu.max", f"{BATCH}/cpu.weight", f"{BATCH}/cpu.idle"
Kernel = Callable[..., FakeV2]


@pytest.fixture
def pid() -> Iterator[int]:
    """A program that sleeps."""
    with subprocess.Popen([sys.executable, "-IS", "-c", testing.SLEEP]) as one:
        yield one.pid
        one.kill()


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """A kernel with a group `batch`, which takes no weight of an idle group."""

    def make(*pids: int, home: str = FakeV2.home, handed: str = "cpu") -> FakeV2:
        one = FakeV2(tmp_path, pids, home, handed)
        if not one.tree.exists(BATCH):
            one.mkdir(one.tree, BATCH)
        if "cpu" in handed.split():
            put(tmp_path, IDLE, "0")

        def write(tree: Tree, path: str, text: str) -> None:
            folder = path.rpartition("/")[0]
            if path == WEIGHT and tree.text(IDLE) == "1":
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            one.write(tree, path, text)
            if path == IDLE:
                put(tmp_path, f"{folder}/cpu.weight", "100")

        for name, act in (("_mkdir", one.mkdir), ("_rmdir", one.rmdir), ("write", write)):
            monkeypatch.setattr(knob_groups, name, act)
        return one

    return make


def batch(kernel: FakeV2, role: str = "best-effort") -> Managed:
    target = {"target": "1ms"} if role != "best-effort" else {}
    spec = GroupSpec.model_validate({"role": role, "cgroup": "/batch", **target})
    one = Managed("batch", spec, (0, 1), kernel.tree)
    one.find()
    return one


def by_number(kernel: FakeV2, pid: int, name: str = "job") -> Managed:
    one = Managed(name, GroupSpec(role="best-effort", pid=pid), (0, 1), kernel.tree)
    one.find()
    return one


def test_a_quota_that_is_too_small_for_its_period_gets_a_longer_one(kernel: Kernel) -> None:
    fake, book = kernel(), MemoryBook()
    put(fake.root, MAX, "max 5000")
    one = batch(fake)
    one.take(book)
    for level, text in ((0.05, "5000 100000"), (0.5, "2500 5000"), (0.005, "5000 1000000")):
        assert one.apply("quota", level) == ""
        assert fake.tree.text(MAX) == text
        assert one.read().quota == one.allocation.quota == level
    assert one.apply("quota", 0.0) == ""
    assert (fake.tree.text(MAX), one.allocation.quota) == ("1000 1000000", 0.001)
    assert one.apply("quota", None) == ""
    assert fake.tree.text(MAX) == "max 5000"
    put(fake.root, MAX, "1000 5000")
    assert "no limit" in one.lies()
    one.apply("quota", 0.05)
    put(fake.root, MAX, "1000 5000")  # 0.2 CPUs, by somebody who sets another period
    assert "reads 1000 us" in one.lies()
    put(fake.root, MAX, "5000 100000")
    assert one.restore() == []
    assert fake.tree.text(MAX) == "max 5000"
    assert not book.open


def test_the_safe_cap_of_the_warden_has_a_period_in_which_it_fits(kernel: Kernel) -> None:
    fake, book = kernel(), MemoryBook()
    put(fake.root, MAX, "max 5000")
    one = batch(fake)
    one.take(book)
    assert one.safe_cap()[-1] == (MAX, "5000 100000")
    one.restore()


def test_a_weight_of_an_idle_group_is_set_when_it_is_idle_no_longer(kernel: Kernel) -> None:
    fake, book = kernel(), MemoryBook()
    put(fake.root, WEIGHT, "50")
    one = batch(fake)
    one.take(book)
    assert one.apply("idle", level=True) == ""
    assert fake.tree.text(WEIGHT) == "100"
    assert one.apply("idle", level=False) == ""
    assert fake.tree.text(WEIGHT) == "50"
    assert one.apply("idle", level=True) == ""
    assert one.apply("weight", 20) == ""
    assert fake.tree.text(WEIGHT) == "100"
    assert one.apply("idle", level=False) == ""
    assert fake.tree.text(WEIGHT) == "20"
    assert one.restore() == []
    assert (fake.tree.text(WEIGHT), fake.tree.text(IDLE)) == ("50", "0")
    assert not book.open


def test_a_weight_that_was_changed_before_it_was_idle_is_put_back(kernel: Kernel) -> None:
    fake, book = kernel(), MemoryBook()
    put(fake.root, WEIGHT, "50")
    one = batch(fake)
    one.take(book)
    assert one.apply("weight", 70) == one.apply("idle", level=True) == ""
    assert one.restore() == []
    assert (fake.tree.text(WEIGHT), fake.tree.text(IDLE)) == ("50", "0")


def test_a_group_that_cannot_be_capped_is_refused_before_it_is_managed(kernel: Kernel) -> None:
    fake, book = kernel(), MemoryBook()
    one = batch(fake)
    fake.refuses.add("cpu.max")
    with pytest.raises(HostFault, match="the safe cap of batch cannot be set: No such") as caught:
        one.take(book)
    assert caught.value.at == "groups.batch.safe_quota"
    one.restore()
    assert not book.open


def test_a_group_without_the_controller_cpu_has_no_cap_and_cannot_be_stopped_by_it(
    kernel: Kernel,
) -> None:
    fake, book = kernel(handed="cpuset"), MemoryBook()
    one = batch(fake)
    with pytest.raises(HostFault, match="it has no group with the controller cpu"):
        one.take(book)
    one.restore()
    service = batch(fake, "latency-critical")
    service.take(book)
    assert service.apply("cores", 0) == "it has no group with the controller cpu"
    service.restore()
    assert not book.open


def test_what_a_cap_took_is_given_back_once(kernel: Kernel) -> None:
    fake, book = kernel(), MemoryBook()
    one = batch(fake)
    one.take(book)
    one.apply("quota", 0.3)
    assert (one.cap(), one.cap(), one.allocation.quota) == ("", "", 0.05)
    assert (one.uncap(), one.allocation.quota) == ("", 0.3)
    one.apply("quota", 0.7)
    assert (one.uncap(), one.allocation.quota) == ("", 0.7), "there was no cap"
    put(fake.root, MAX, "5000 100000")  # the warden's, while the manager was paused
    assert (one.cap(), one.uncap(), one.allocation.quota) == ("", "", 0.7)
    assert fake.tree.text(MAX) == "70000 100000"
    one.restore()


def test_a_quota_that_cannot_be_given_back_is_tried_again(kernel: Kernel) -> None:
    fake, book = kernel(), MemoryBook()
    one = batch(fake)
    one.take(book)
    assert one.apply("quota", 0.3) == one.cap() == ""
    fake.refuses.add("cpu.max")
    assert one.uncap() != ""
    fake.refuses.clear()
    assert (one.uncap(), fake.tree.text(MAX)) == ("", "30000 100000")
    one.restore()


def test_a_process_is_managed_once_and_its_group_by_no_one_else(kernel: Kernel, pid: int) -> None:
    fake = kernel(pid, home="/batch/inner")
    books = [MemoryBook() for _ in range(3)]
    first = by_number(fake, pid)
    first.take(books[0])
    for other, book in ((by_number(fake, pid, "again"), books[1]), (batch(fake), books[2])):
        with pytest.raises(HostFault, match="another manager has the control group"):
            other.take(book)
        other.restore()
        assert not book.open
    assert first.lies() == ""
    first.restore()
    assert fake.tree.text(f"{BATCH}/inner/cgroup.procs") == str(pid)
    one = batch(fake)
    one.take(books[0])
    late = by_number(fake, pid)
    with pytest.raises(HostFault, match="another manager has the control group"):
        late.take(books[1])
    late.restore()
    assert fake.tree.text(f"{BATCH}/inner/cgroup.procs") == str(pid)
    one.restore()
    late.take(books[1])
    late.restore()
    assert not any(book.open for book in books)


def test_a_process_that_somebody_moves_elsewhere_is_not_in_force_any_more(
    kernel: Kernel, pid: int
) -> None:
    fake, book = kernel(pid), MemoryBook()
    one = by_number(fake, pid)
    one.take(book)
    assert one.lies() == ""
    fake.write(fake.tree, f"{BATCH}/cgroup.procs", str(pid))
    assert one.lies() == f"process {pid} was moved out of its group"
    one.restore()
    assert not book.open


def test_each_process_of_a_family_goes_back_to_its_own_group(kernel: Kernel) -> None:
    code = f"import os, time; os.fork(); os.write(1, b'x'); {testing.SLEEP}"
    words = [sys.executable, "-IS", "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert len(parent.stdout.read(2)) == 2
        child = int(Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text())
        try:
            fake, book = kernel(parent.pid, child), MemoryBook()
            fake.write(fake.tree, f"{BATCH}/cgroup.procs", str(child))
            before = fake.snapshot()
            one = by_number(fake, parent.pid)
            one.take(book)
            assert one.cpu is not None
            assert one.cpu.elsewhere([parent.pid, child]) == {}
            one.restore()
            assert fake.snapshot() == before
            assert not book.open
        finally:
            os.kill(child, 9)
            parent.kill()


def test_processes_of_groups_below_are_in_it_as_well(kernel: Kernel, pid: int) -> None:
    fake = kernel(pid, home="/batch/inner/most")
    assert batch(fake).pids() == (pid,)
    assert members.pids(fake.tree, f"{MOUNT}/none") == ()


def test_a_group_without_others_in_it_is_not_listed(
    kernel: Kernel, pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, walked = kernel(pid, home="/batch"), list[Path]()

    def walk(top: Path) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
        walked.append(top)
        return tree.walk(top)

    monkeypatch.setattr(members, "walk", walk)
    assert batch(fake).pids() == (pid,)
    top = fake.tree.path(BATCH)
    assert walked == ([] if top.stat().st_nlink == members.LEAF_LINKS else [top])


def renewed(fake: FakeV2) -> None:
    """Somebody removes the group and makes another one; no number of the old one is used again."""
    fake.tree.path(BATCH).rename(fake.root / f"old{len([*fake.root.iterdir()])}")
    fake.mkdir(fake.tree, BATCH)
    put(fake.root, IDLE, "0")


def test_a_group_that_was_made_anew_gets_its_levels_when_it_has_settled(
    kernel: Kernel, pid: int
) -> None:
    fake, book, absent = kernel(), MemoryBook(), Absent()
    one = batch(fake)
    one.take(book)
    assert one.apply("quota", 0.3) == one.apply("weight", 50) == one.apply("idle", level=True) == ""
    assert one.cap() == ""
    renewed(fake)
    assert not one.is_there
    absent.add(one)
    assert not book.open, "what was set went with it"
    assert [*absent.back(0.0)] == [*absent.back(2 * BACK_S)] == [], "no process is in it"
    put(fake.root, f"{BATCH}/cgroup.procs", str(pid))
    assert [*absent.back(3.0)] == [*absent.back(3.0 + BACK_S / 2)] == []
    put(fake.root, MAX, "90000 100000")  # whoever made it has set a limit of its own
    assert [*absent.back(3.0 + BACK_S)] == [one]
    assert one.take_again() == ""
    absent.remove("batch")
    assert one.is_there
    assert (fake.tree.text(MAX), fake.tree.text(IDLE)) == ("5000 100000", "1")
    assert (one.uncap(), fake.tree.text(MAX)) == ("", "30000 100000")
    assert (one.apply("idle", level=False), fake.tree.text(WEIGHT)) == ("", "50")
    assert one.restore() == []
    assert fake.tree.text(MAX) == "90000 100000"
    assert not book.open


def test_a_group_that_is_back_and_refused_is_left_as_it_is_and_tried_again(
    kernel: Kernel, pid: int
) -> None:
    fake, book = kernel(), MemoryBook()
    one = batch(fake)
    one.take(book)
    one.apply("quota", 0.3)
    renewed(fake)
    one.lose()
    put(fake.root, f"{BATCH}/cgroup.procs", str(pid))
    fake.refuses.add("cpu.max")
    assert "the safe cap of batch cannot be set" in one.take_again()
    assert (fake.tree.text(MAX), book.open) == ("max 100000", {})
    fake.refuses.clear()
    assert one.take_again() == ""
    assert fake.tree.text(MAX) == "30000 100000"
    one.restore()


def capped_while_lost(fake: FakeV2, book: MemoryBook, pid: int) -> Managed:
    """A group of quota 0.3 that was made anew, and that the warden of a paused manager capped."""
    one = batch(fake)
    one.take(book)
    one.note_cap()
    assert one.apply("quota", 0.3) == ""
    renewed(fake)
    put(fake.root, f"{BATCH}/cgroup.procs", str(pid))
    put(fake.root, MAX, "5000 100000")
    one.lose()
    return one


def test_a_cap_that_the_warden_set_of_a_new_group_is_not_taken_for_its_own(
    kernel: Kernel, pid: int
) -> None:
    fake, book = kernel(), MemoryBook()
    one = capped_while_lost(fake, book, pid)
    assert one.take_again() == ""
    assert (one.start.quota, fake.tree.text(MAX)) == (None, "30000 100000")
    assert one.restore() == []
    assert fake.tree.text(MAX) == "max 100000"
    assert not book.open


def test_the_cap_of_a_group_that_is_lost_stays_in_the_journal_until_it_is_managed_again(
    kernel: Kernel, pid: int
) -> None:
    fake, book = kernel(), MemoryBook()
    one = capped_while_lost(fake, book, pid)

    def noted() -> list[tuple[str, str]]:
        every = [setting for _, facts in book.open.values() for setting in facts["settings"]]
        return [(one["old"], one["new"]) for one in every if one["path"] == MAX]

    assert noted() == [("max 100000", "5000 100000")]
    fake.refuses.add("cpu.max")
    assert one.take_again() != ""
    assert noted() == [("max 100000", "5000 100000")], "the warden has that path still"
    fake.refuses.clear()
    hidden = fake.root / "hidden"
    fake.tree.path(BATCH).rename(hidden)
    assert "no control group" in one.take_again()
    assert noted() == [("max 100000", "5000 100000")], "nor is it there"
    hidden.rename(fake.tree.path(BATCH))
    assert (one.take_again(), fake.tree.text(MAX)) == ("", "30000 100000")
    assert one.restore() == []
    assert not book.open


@pytest.mark.parametrize("text", ["5000 100000", "7000 100000"])
def test_a_safe_cap_that_changes_while_a_group_is_lost_is_undone_as_is_the_one_before(
    kernel: Kernel, pid: int, text: str
) -> None:
    """The warden of before a reload may have written its cap, or the new one, or be about to."""
    fake, book = kernel(), MemoryBook()
    one = capped_while_lost(fake, book, pid)
    one.spec = one.spec.model_copy(update={"safe_quota": 0.07})
    one.note_cap()
    put(fake.root, MAX, text)
    ((_, facts),) = book.open.values()
    for table in facts["settings"]:  # as who finds the journal of a dead manager does
        settings.put_back(settings.Setting.from_json(table), fake.tree)
    assert fake.tree.text(MAX) == "max 100000"
    put(fake.root, MAX, text)
    assert one.take_again() == ""
    assert (one.start.quota, fake.tree.text(MAX)) == (None, "30000 100000")
    assert one.restore() == []
    assert (fake.tree.text(MAX), book.open) == ("max 100000", {})


def test_a_group_that_is_lost_at_the_end_has_no_cap_then(kernel: Kernel, pid: int) -> None:
    fake, book, others = kernel(), MemoryBook(), MemoryBook()
    one = capped_while_lost(fake, book, pid)
    one.abandon()
    assert (fake.tree.text(MAX), book.open) == ("max 100000", {})
    again = capped_while_lost(fake, book, pid)
    other = batch(fake)
    other.take(others)
    assert other.cap() == ""
    again.abandon()
    assert (fake.tree.text(MAX), book.open) == ("5000 100000", {}), "another manager has it"
    other.restore()


def test_levels_that_the_manager_never_changed_are_those_of_the_new_group(
    kernel: Kernel,
) -> None:
    fake, book = kernel(), MemoryBook()
    put(fake.root, MAX, "40000 100000")
    put(fake.root, WEIGHT, "50")
    one = batch(fake)
    one.take(book)
    assert one.apply("idle", level=True) == one.cap() == ""
    renewed(fake)
    put(fake.root, MAX, "90000 100000")
    put(fake.root, WEIGHT, "200")
    one.lose()
    assert one.take_again() == ""
    assert (fake.tree.text(MAX), fake.tree.text(IDLE)) == ("5000 100000", "1"), "these it had set"
    assert (one.uncap(), fake.tree.text(MAX)) == ("", "90000 100000")
    assert (one.apply("idle", level=False), fake.tree.text(WEIGHT)) == ("", "200")
    assert one.restore() == []
    assert not book.open


def test_in_a_dry_run_a_group_is_looked_at_again_and_never_written(kernel: Kernel) -> None:
    fake = kernel()
    one = batch(fake)
    renewed(fake)
    one.lose()
    before = fake.snapshot()
    assert (one.take_again(), one.is_there) == ("", True)
    assert fake.snapshot() == before
