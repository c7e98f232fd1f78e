"""A second level that is refused, or cannot be noted: the first one is put back."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.errors import HostFault, RunFault
from sojourn.host.tree import Tree
from sojourn.knobs import KINDS, Turned, attr, resctrl, settings
from sojourn.knobs.groups_test import alive
from sojourn.knobs.resctrl_test import Make, book, fake
from sojourn.knobs.settings import Setting
from sojourn.knobs.testing import MemoryBook, put
from sojourn.places import proc

__all__ = ["book", "fake"]
CPUS = sorted(os.sched_getaffinity(0))
THREADS = """
import threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("ready", flush=True)
time.sleep(600)
"""
IRQS = {f"/proc/irq/{number}/smp_affinity_list": "0-3" for number in (9, 24, 25)}


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    """A server with four threads."""
    yield from alive(THREADS)


def attributes(leader: int) -> list[tuple[set[int], str]]:
    """CPUs and policy of each thread."""
    tids = [task.tid for task in proc.tasks(leader)]
    return [(os.sched_getaffinity(tid), attr.get(tid).text) for tid in tids]


def undone(book: MemoryBook, tree: Tree) -> None:
    """What `restore` makes of what is open, the last first."""
    for _, facts in reversed(book.open.values()):
        tables = facts["settings"]
        assert isinstance(tables, list)
        for table in reversed(tables):
            assert settings.put_back(Setting.from_json(table), tree) == ""


def refuses_second_of(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel takes it for the first thread, and for no other one."""
    change, taken = settings.change, list[str]()

    def refuse(setting: Setting, text: str, tree: Tree) -> str:
        if text == level and taken:
            return "Operation not permitted"
        taken.extend([text] if text == level else [])
        return change(setting, text, tree)

    monkeypatch.setattr(settings, "change", refuse)


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize(
    ("name", "first", "second", "text"),
    [
        ("cpuset", str(CPUS[0]), str(CPUS[-1]), str(CPUS[-1])),
        ("policy", "batch", "idle", attr.Attr(attr.IDLE).text),
    ],
)
def test_threads_that_have_only_the_first_level_are_put_back(  # noqa: PLR0917  # its cases
    server: subprocess.Popen[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    first: str,
    second: str,
    text: str,
    *,
    is_killed: bool,
) -> None:
    if name == "cpuset" and len(CPUS) < 2:
        pytest.skip("needs two CPUs to move a thread between")
    book, before = MemoryBook(), attributes(server.pid)
    knob = KINDS[name].build(Turned(label="web", leader=server.pid, book=book))
    knob.apply(first)
    with monkeypatch.context() as patched:
        refuses_second_of(text, patched)
        with pytest.raises(HostFault, match="not permitted"):
            knob.apply(second)
        assert len({str(one) for one in attributes(server.pid)}) == 2, "one has the second level"
    if is_killed:
        undone(book, Tree())
    else:
        knob.restore()
        assert not book.open
    assert attributes(server.pid) == before


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_file_that_a_second_level_spares_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_killed: bool
) -> None:
    """An interrupt that the kernel does not let go from the CPUs that it has by now."""
    for path, text in {**IRQS, "/proc/interrupts": "CPU0 CPU1\n 9: 1 1 a\n"}.items():
        put(tmp_path, path, text)
    book, tree = MemoryBook(), Tree(tmp_path)
    knob = KINDS["irq"].build(Turned(label="web", leader=os.getpid(), book=book, tree=tree))
    knob.apply("1")
    with monkeypatch.context() as patched:
        refuses_second_of("2", patched)
        knob.apply("2")
    assert sorted(tree.text(path) or "" for path in IRQS) == ["1", "1", "2"]
    if is_killed:
        undone(book, tree)
    else:
        knob.restore()
        assert not book.open
    assert [tree.text(path) for path in IRQS] == ["0-3"] * 3


class FullBook(MemoryBook):
    """A book on a disk that may be full."""

    is_full = False

    def note(self, kind: str, /, **facts: object) -> int:
        """Note something, unless it is full."""
        if self.is_full:
            raise RunFault("the disk is full", at="", fix="")
        return super().note(kind, **facts)


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [("cpuset", str(CPUS[0]), str(CPUS[-1])), ("policy", "batch", "idle"), ("irq", "1", "2")],
)
def test_a_level_that_cannot_be_noted_leaves_what_the_first_one_was_to_be_put_back(
    server: subprocess.Popen[str], tmp_path: Path, name: str, first: str, second: str
) -> None:
    if name == "cpuset" and len(CPUS) < 2:
        pytest.skip("needs two CPUs to move a thread between")
    for path, text in {**IRQS, "/proc/interrupts": "CPU0 CPU1\n 9: 1 1 a\n"}.items():
        put(tmp_path, path, text)
    tree, book = Tree(tmp_path) if name == "irq" else Tree(), FullBook()

    def state() -> list[object]:
        return [*attributes(server.pid), *(tree.text(path) for path in IRQS if name == "irq")]

    before = state()
    knob = KINDS[name].build(Turned(label="web", leader=server.pid, book=book, tree=tree))
    knob.apply(first)
    assert state() != before
    book.is_full = True
    with pytest.raises(RunFault):
        knob.apply(second)
    knob.restore()
    assert state() == before
    assert not book.open


@pytest.mark.parametrize(("name", "level"), [("llc_ways", "4"), ("memory_bandwidth", "50%")])
def test_a_resource_group_is_left_where_its_line_is_refused(
    fake: Make, book: MemoryBook, monkeypatch: pytest.MonkeyPatch, name: str, level: str
) -> None:
    kernel, on = fake("intel")
    before, write = kernel.files(), kernel.write

    def refuse(tree: Tree, path: str, text: str) -> None:
        if path.endswith("/schemata"):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        write(tree, path, text)

    knob = KINDS[name].build(on)
    with monkeypatch.context() as patched:
        patched.setattr(resctrl, "write", refuse)
        with pytest.raises(HostFault, match="Invalid argument"):
            knob.apply(level)
    assert book.open, "its threads are in the group"
    knob.restore()
    assert kernel.files() == before
    assert not book.open
