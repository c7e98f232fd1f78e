"""Cache ways and memory bandwidth of a group, on made-up resctrl trees (fakes)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn.controllers.look import Level
from sojourn.errors import HostFault
from sojourn.host.tree import Tree
from sojourn.knobs import Turned, llc_ways, memory_bandwidth, resctrl
from sojourn.knobs.resctrl import MOUNT
from sojourn.knobs.resctrl_test import VENDORS, Kernel
from sojourn.knobs.testing import MemoryBook, put
from sojourn.manage.actuators import Actuator, Member
from sojourn.manage.actuators.cache import Bandwidth, Ways
from sojourn.manage.config import GroupSpec
from sojourn.manage.daemon_test import here, journals, needs_groups, played, state
from sojourn.manage.testing import SLEEP, Stand, ended

__all__ = ["here", "state"]
MIB = 1 << 20
Make = Callable[[str], tuple[Kernel, Member]]


class Tasks:
    """Programs that the group has."""

    def __init__(self) -> None:
        self.programs: list[subprocess.Popen[bytes]] = []

    def start(self) -> str:
        """Start one more; its number."""
        program = subprocess.Popen([sys.executable, "-I", "-S", "-c", SLEEP])
        self.programs.append(program)
        return str(program.pid)

    def pids(self) -> tuple[int, ...]:
        return tuple(one.pid for one in self.programs)


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    made = Tasks()
    made.start()
    yield made
    for program in made.programs:
        assert ended(program)


@pytest.fixture
def book() -> MemoryBook:
    return MemoryBook()


@pytest.fixture
def fake(tmp_path: Path, book: MemoryBook, tasks: Tasks, monkeypatch: pytest.MonkeyPatch) -> Make:
    def make(vendor: str) -> tuple[Kernel, Member]:
        kernel = Kernel(tmp_path, VENDORS[vendor])
        monkeypatch.setattr(resctrl, "make", kernel.make)
        monkeypatch.setattr(resctrl, "unmake", kernel.unmake)
        for module in (resctrl, llc_ways, memory_bandwidth):
            monkeypatch.setattr(module, "write", kernel.write)
        on = Turned(
            label="batch", leader=tasks.pids()[0], book=book, tree=kernel.tree, pids=tasks.pids
        )
        spec = GroupSpec(role="best-effort", cgroup="/batch")
        return kernel, Member(spec=spec, on=on, cpus=tuple)

    return make


def folders(kernel: Kernel) -> list[str]:
    return [f"{MOUNT}/{n}" for n in kernel.tree.names(MOUNT) if n.startswith("sojourn-")]


def line(kernel: Kernel, name: str) -> set[str]:
    """What the group's line says of all caches."""
    (folder,) = folders(kernel)
    return {*resctrl.schemata(kernel.tree, folder)[name].values()}


def inside(kernel: Kernel) -> set[str]:
    (folder,) = folders(kernel)
    return {*(kernel.tree.text(f"{folder}/tasks") or "").split()}


@pytest.mark.parametrize(
    ("vendor", "kind", "level", "name", "text"),
    [
        ("intel", Ways, 4, "L3", "f"),
        ("cdp", Ways, 2, "L3CODE", "3"),
        ("amd", Ways, 3, "L3", "7"),
        ("arm", Ways, 1, "L3", "1"),
        ("intel", Bandwidth, 50, "MB", "50"),
        ("arm", Bandwidth, 33, "MB", "33"),
    ],
)
def test_a_group_has_its_line_and_all_is_as_before(  # noqa: PLR0917  # its cases
    vendor: str, kind: type[Actuator], level: Level, name: str, text: str, fake: Make
) -> None:
    kernel, member = fake(vendor)
    before, one = kernel.files(), kind(member)
    assert one.lack() is None
    one.apply(level)
    assert line(kernel, name) == {text}
    assert one.lies() == ""
    assert one.restore() == []
    assert kernel.files() == before
    assert not member.on.book.open  # type: ignore[attr-defined]


def test_both_share_one_resource_group_which_goes_with_the_last(
    fake: Make, book: MemoryBook
) -> None:
    kernel, member = fake("intel")
    before, ways, bandwidth = kernel.files(), Ways(member), Bandwidth(member)
    ways.apply(4)
    bandwidth.apply(30)
    assert len(folders(kernel)) == 1
    ways.apply(None)
    assert (line(kernel, "L3"), line(kernel, "MB")) == ({"7ff"}, {"30"})
    ways.apply(2)
    bandwidth.apply(None)
    assert (line(kernel, "L3"), line(kernel, "MB")) == ({"3"}, {"100"})
    ways.apply(None)
    assert kernel.files() == before
    assert not book.open


@pytest.mark.parametrize(("kind", "level"), [(Ways, 4), (Bandwidth, 50)])
def test_a_thread_that_comes_later_is_put_in(
    kind: type[Actuator], level: Level, fake: Make, tasks: Tasks
) -> None:
    kernel, member = fake("intel")
    one = kind(member)
    one.apply(level)
    later = tasks.start()
    assert later not in inside(kernel)
    assert one.lies() == ""
    assert later in inside(kernel)


def test_a_thread_that_comes_while_it_is_asked_is_no_lie(
    fake: Make, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, member = fake("intel")
    one, join, later = Ways(member), resctrl.join, list[str]()
    one.apply(4)

    def joined(on: Turned, user: str) -> str:
        folder = join(on, user)
        if not later:
            later.append(tasks.start())
        return folder

    monkeypatch.setattr(resctrl, "join", joined)
    assert one.lies() == ""
    assert {*later} < inside(kernel)
    monkeypatch.setattr(resctrl, "join", lambda _on, _user: tasks.start())
    assert "threads are not in its group" in one.lies(), "where they cannot be put in"


@pytest.mark.parametrize(
    ("kind", "level", "name", "other"), [(Ways, 4, "L3", "7ff"), (Bandwidth, 50, "MB", "100")]
)
def test_a_line_that_somebody_else_sets_is_noticed(  # noqa: PLR0917  # its cases
    kind: type[Actuator], level: Level, name: str, other: str, fake: Make, tmp_path: Path
) -> None:
    kernel, member = fake("intel")
    one = kind(member)
    assert one.lies() == ""
    one.apply(level)
    (folder,) = folders(kernel)
    kernel.write(kernel.tree, f"{folder}/schemata", f"{name}:0={other};1={other}")
    assert f"the kernel says {name}" in one.lies()


@pytest.mark.parametrize(
    ("vendor", "kind", "level", "why"),
    [
        ("intel", Ways, 12, "11 ways"),
        ("intel", Bandwidth, 55, "steps of 10%"),
        ("amd", Bandwidth, 50, "bytes a second"),
    ],
)
def test_what_a_cpu_does_not_take_is_refused(  # noqa: PLR0917  # its cases
    vendor: str, kind: type[Actuator], level: Level, why: str, fake: Make, book: MemoryBook
) -> None:
    kernel, member = fake(vendor)
    before, one = kernel.files(), kind(member)
    with pytest.raises((OSError, ValueError), match=why):
        one.apply(level)
    assert one.restore() == []
    assert kernel.files() == before
    assert not book.open


def test_where_only_the_line_is_refused_the_resource_group_goes_as_well(
    fake: Make, book: MemoryBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, member = fake("intel")
    before, one = kernel.files(), Ways(member)

    def write(tree: Tree, path: str, text: str) -> None:
        if path.endswith("/schemata"):
            raise OSError(22, "Invalid argument")
        kernel.write(tree, path, text)

    monkeypatch.setattr(resctrl, "write", write)
    with pytest.raises(OSError, match="Invalid argument"):
        one.apply(4)
    assert folders(kernel)
    assert one.restore() == []
    assert kernel.files() == before
    assert not book.open


def test_threads_of_somebody_elses_resource_group_stay_there(fake: Make, tasks: Tasks) -> None:
    kernel, member = fake("intel")
    put(kernel.root, f"{MOUNT}/theirs/tasks", str(tasks.pids()[0]))
    with pytest.raises(ValueError, match="no other resource group") as caught:
        Ways(member).apply(4)
    assert "theirs" in str(caught.value)
    assert folders(kernel) == []


def test_a_group_that_goes_on_taking_more_of_the_cache_than_its_ways_is_seen(fake: Make) -> None:
    kernel, member = fake("intel")
    one = Ways(member)
    assert one.over(0.0) == ""
    one.apply(4)  # of 11 ways of one counted cache of 16.5 MiB: 6 MiB
    seen = []
    for mib in (12, 12, 13, 5, 6, 8):
        put(kernel.root, f"{folders(kernel)[0]}/mon_data/mon_L3_00/llc_occupancy", str(mib * MIB))
        seen.append(one.over(0.0))
    more = ["it holds 13 MiB of the cache where 6 are allowed", "it holds 8 MiB"]
    assert [seen[0], seen[1], seen[3], seen[4]] == [""] * 4, "what is left from before is no more"
    assert seen[2] == more[0]
    assert seen[5].startswith(more[1])


def test_a_dead_managers_resource_group_is_removed(
    fake: Make, book: MemoryBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, member = fake("intel")
    put(kernel.root, "/proc/self/mountinfo", f"30 23 0:26 / {MOUNT} rw - resctrl resctrl rw")
    before = kernel.files()
    Ways(member).apply(4)
    ((kind, facts),) = book.open.values()
    undone = resctrl.UNDO[kind](facts)
    assert undone is not None
    assert undone.is_done
    assert kernel.files() == before


def test_a_machine_without_resctrl_is_recognised(tmp_path: Path, fake: Make) -> None:
    _, member = fake("intel")
    shutil.rmtree(tmp_path / MOUNT.lstrip("/"))
    for kind in (Ways, Bandwidth):
        with pytest.raises(ValueError, match="resctrl"):
            kind(member).apply(5)


@needs_groups
@pytest.mark.skipif(Tree().exists(f"{MOUNT}/schemata"), reason="this machine has resctrl")
@pytest.mark.parametrize(
    ("constants", "word"), [({"ways": 2}, "cache ways"), ({"bandwidth": 50}, "memory bandwidth")]
)
def test_a_rule_that_asks_for_it_is_refused_before_the_start(
    constants: dict[str, float], word: str, here: Stand, state: Path
) -> None:
    before = here.snapshot()
    with pytest.raises(HostFault, match=rf"{word} of a group \(batch lacks .*resctrl"):
        played(here, [here.window], "static", constants=constants)
    assert here.snapshot() == before
    assert not journals(state)
