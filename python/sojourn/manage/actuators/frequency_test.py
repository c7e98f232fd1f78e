"""The frequency of a group's own CPUs, on a made-up /sys (a fake)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn.errors import HostFault
from sojourn.host.tree import Tree
from sojourn.knobs import Turned
from sojourn.knobs.testing import MemoryBook, put
from sojourn.manage.actuators import Member
from sojourn.manage.actuators.frequency import CpuFrequency
from sojourn.manage.config import GroupSpec
from sojourn.manage.daemon_test import (
    here,
    journals,
    needs_groups,
    played,
    state,
    undone_as_of_the_dead,
)
from sojourn.manage.testing import Stand
from sojourn.places.ledger import Book
from sojourn.run.journal import Journal

__all__ = ["here", "state"]
CPU = "/sys/devices/system/cpu"
MOST, LEAST = 3_900_000, 800_000
FILES = {
    "scaling_governor": "performance",
    "scaling_max_freq": str(MOST),
    "scaling_cur_freq": "3800000",
    "cpuinfo_min_freq": str(LEAST),
    "cpuinfo_max_freq": str(MOST),
}
Make = Callable[..., CpuFrequency]


class Own:
    """CPUs that the group has for itself, which a rule may change."""

    def __init__(self) -> None:
        self.cpus: tuple[int, ...] = (2, 3)


@pytest.fixture
def own() -> Own:
    return Own()


@pytest.fixture
def book() -> MemoryBook:
    return MemoryBook()


@pytest.fixture
def fake(tmp_path: Path, own: Own, book: MemoryBook) -> Make:
    def make(to: Book = book) -> CpuFrequency:
        for cpu in range(4):
            for name, text in {**FILES, "related_cpus": str(cpu)}.items():
                if not (tmp_path / f"{CPU}/cpu{cpu}/cpufreq/{name}".lstrip("/")).exists():
                    put(tmp_path, f"{CPU}/cpu{cpu}/cpufreq/{name}", text)
        on = Turned(label="batch", leader=0, book=to, tree=Tree(tmp_path), pids=tuple)
        spec = GroupSpec(role="best-effort", cgroup="/batch")
        return CpuFrequency(Member(spec=spec, on=on, cpus=lambda: own.cpus))

    return make


def bounds(tmp_path: Path) -> list[int]:
    """The upper bound of each CPU, kHz."""
    files = (f"{CPU}/cpu{cpu}/cpufreq/scaling_max_freq".lstrip("/") for cpu in range(4))
    return [int((tmp_path / file).read_text()) for file in files]


def test_only_its_own_cpus_are_bound_and_free_again(
    fake: Make, book: MemoryBook, tmp_path: Path
) -> None:
    one = fake()
    assert one.lack() is None
    for hz, khz in ((2.4e9, 2_400_000), (1e9, 1_000_000)):
        one.apply(hz)
        assert bounds(tmp_path) == [MOST, MOST, khz, khz]
        assert one.lies() == ""
    assert len(book.open) == 1
    assert one.restore() == []
    assert bounds(tmp_path) == [MOST] * 4
    assert not book.open


def test_the_bound_follows_the_cores_of_the_group(fake: Make, own: Own, tmp_path: Path) -> None:
    one = fake()
    one.apply(2e9)
    for cpus in ((1, 2, 3), (3,), (), (2, 3)):
        own.cpus = cpus
        assert one.lies() == ""
        wanted = [2_000_000 if cpu in cpus else MOST for cpu in range(4)]
        assert bounds(tmp_path) == wanted
    one.apply(None)
    assert bounds(tmp_path) == [MOST] * 4


def test_a_bound_that_somebody_else_sets_is_noticed_and_left(fake: Make, tmp_path: Path) -> None:
    one = fake()
    one.apply(2e9)
    put(tmp_path, f"{CPU}/cpu3/cpufreq/scaling_max_freq", "3000000")
    assert "cpu3/cpufreq/scaling_max_freq says 3000000" in one.lies()
    one.restore()
    assert bounds(tmp_path) == [MOST, MOST, MOST, 3_000_000]


def test_a_cpu_that_runs_faster_than_its_bound_is_seen(fake: Make, tmp_path: Path) -> None:
    one = fake()
    assert one.over(0.0) == ""
    one.apply(2e9)
    assert "CPU 2 runs at 3.8 GHz where 2 are allowed" in one.over(1.0)
    for cpu in (2, 3):
        put(tmp_path, f"{CPU}/cpu{cpu}/cpufreq/scaling_cur_freq", "2050000")
    assert one.over(2.0) == ""


@pytest.mark.parametrize(
    ("hz", "why"), [(0.5e9, "0.8 to 3.9 GHz"), (5e9, "0.8 to 3.9 GHz"), (0.0, "0.8 to 3.9 GHz")]
)
def test_a_bound_that_a_cpu_does_not_take_is_refused(
    hz: float, why: str, fake: Make, book: MemoryBook, tmp_path: Path
) -> None:
    one = fake()
    with pytest.raises(ValueError, match=why):
        one.apply(hz)
    assert bounds(tmp_path) == [MOST] * 4
    assert not book.open


def test_cpus_with_one_clock_may_have_one_folder(fake: Make, own: Own, tmp_path: Path) -> None:
    """As most machines have it: cpu3/cpufreq is a link to the folder of both."""
    one, two = fake(), fake(MemoryBook())
    shared, link = (tmp_path / f"{CPU}/cpu{cpu}/cpufreq".lstrip("/") for cpu in (2, 3))
    shutil.rmtree(link)
    link.symlink_to(shared)
    put(tmp_path, f"{CPU}/cpu2/cpufreq/related_cpus", "2 3")
    one.apply(2e9)
    assert bounds(tmp_path) == [MOST, MOST, 2_000_000, 2_000_000]
    assert one.lies() == ""
    with pytest.raises(OSError, match="another group has the frequency of CPU 3"):
        two.apply(1e9)
    own.cpus = (3,)
    assert "frequency: CPU 3 shares its clock with 2" in one.lies()
    assert one.restore() == []
    assert bounds(tmp_path) == [MOST] * 4


def test_a_lock_that_is_refused_leaves_no_other(fake: Make, own: Own) -> None:
    first, second, third = fake(), fake(MemoryBook()), fake(MemoryBook())
    own.cpus = (3,)
    first.apply(2e9)
    own.cpus = (2, 3)
    with pytest.raises(OSError, match="another group has the frequency of CPU 3"):
        second.apply(1e9)
    own.cpus = (2,)
    third.apply(1e9)
    assert third.restore() == first.restore() == []


def test_a_clock_that_others_share_is_refused(fake: Make, tmp_path: Path) -> None:
    put(tmp_path, f"{CPU}/cpu2/cpufreq/related_cpus", "0 2")
    with pytest.raises(ValueError, match="CPU 2 shares its clock with 0"):
        fake().apply(2e9)
    assert bounds(tmp_path) == [MOST] * 4


def test_one_group_has_the_frequency_of_a_cpu(fake: Make, tmp_path: Path) -> None:
    first, second = fake(), fake(MemoryBook())
    first.apply(2e9)
    with pytest.raises(OSError, match="another group has the frequency of CPU 2"):
        second.apply(1e9)
    first.restore()
    second.apply(1e9)
    assert second.restore() == []
    assert bounds(tmp_path) == [MOST] * 4


def test_who_finds_the_journal_of_a_dead_manager_frees_the_cpus(
    fake: Make, state: Path, tmp_path: Path
) -> None:
    journal = Journal.create()
    one = fake(journal)
    one.apply(2e9)
    journal.close()
    assert bounds(tmp_path)[3] == 2_000_000
    undone_as_of_the_dead(state, Tree(tmp_path))
    assert bounds(tmp_path) == [MOST] * 4
    assert not journals(state)


def test_a_machine_without_cpufreq_is_recognised(tmp_path: Path) -> None:
    on = Turned(label="batch", leader=0, book=MemoryBook(), tree=Tree(tmp_path), pids=tuple)
    spec = GroupSpec(role="best-effort", cgroup="/batch")
    one = CpuFrequency(Member(spec=spec, on=on, cpus=lambda: (0,)))
    with pytest.raises(ValueError, match="cpufreq"):
        one.apply(2e9)


@needs_groups
@pytest.mark.skipif(Path(f"{CPU}/cpu0/cpufreq").exists(), reason="this machine has cpufreq")
def test_a_rule_that_asks_for_it_is_refused_before_the_start(here: Stand, state: Path) -> None:
    before = here.snapshot()
    with pytest.raises(HostFault, match=r"a bound on the frequency .* \(batch lacks cpufreq\)"):
        played(here, [here.window], "static", constants={"cores": 1, "frequency": 1e9})
    assert here.snapshot() == before
    assert not journals(state)
