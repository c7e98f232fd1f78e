"""Knobs on scripts that stand in for servers, each started and ended here."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn import knobs
from sojourn.errors import HostFault, SpecFault
from sojourn.host.tree import Tree, cpu_text
from sojourn.knobs import KINDS, Knob, Turned, settings
from sojourn.knobs.settings import TEXT, Setting
from sojourn.places import proc

#: Files of the folder that are no kind: what kinds are made of, and helpers.
# fmt: off
NO_KIND = {
    "__init__", "attr", "disks", "grouped", "groups", "handed", "homes", "htb", "knob", "known",
    "limit", "machine", "net_space", "ordered", "policy_level", "priority", "probe", "resctrl",
    "scheduler", "settings", "testing",
}
# fmt: on
BOUNDED = {"cpu_weight"}  # by the number of digits that its pattern takes
SERVER = """
import os, sys, threading
def work(cpus):
    if cpus: os.sched_setaffinity(0, cpus)
    ready.wait()
    while True:
        with busy: busy.wait(0.005)
busy, ready = threading.Condition(), threading.Barrier(4)
pinned = {int(sys.argv[1])}
for cpus in (None, None, pinned):
    threading.Thread(target=work, args=(cpus,), daemon=True).start()
ready.wait()
print("ready", flush=True)
for line in sys.stdin:
    threading.Thread(target=sys.stdin.read, daemon=True).start()
    print("more", flush=True)
"""
CPUS = sorted(os.sched_getaffinity(0))
ALL = cpu_text(tuple(CPUS))


class Book:
    """A book in memory."""

    def __init__(self) -> None:
        self.open: dict[int, list[Setting]] = {}
        self.count = 0

    def started(self, what: str, pid: int, start_ticks: int) -> int:
        raise NotImplementedError

    def note(self, kind: str, /, **facts: object) -> int:
        assert kind == "settings"
        report = facts["settings"]
        assert isinstance(report, list)
        self.count += 1
        self.open[self.count] = [Setting.from_json(table) for table in report]
        return self.count

    def undone(self, entry: int) -> None:
        del self.open[entry]


@pytest.fixture
def book() -> Book:
    return Book()


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    """A server with four threads, one of them pinned to the last CPU."""
    if len(CPUS) < 2:
        pytest.skip("needs two CPUs to move a thread between")
    pipe = subprocess.PIPE
    words = [sys.executable, "-I", "-S", "-c", SERVER, str(CPUS[-1])]
    with subprocess.Popen(
        words, stdin=pipe, stdout=pipe, text=True, start_new_session=True
    ) as made:
        assert made.stdout is not None
        assert made.stdout.readline() == "ready\n"
        yield made
        made.kill()


def allowed(made: subprocess.Popen[str]) -> list[str]:
    """CPUs of each thread, as CPU lists, sorted."""
    return sorted(cpu_text(tuple(os.sched_getaffinity(task.tid))) for task in proc.tasks(made.pid))


def cpuset(made: subprocess.Popen[str], book: Book) -> Knob:
    return KINDS["cpuset"].build(Turned(label="web", leader=made.pid, book=book))


def test_the_table_lists_every_file_of_the_folder() -> None:
    folder = Path(knobs.__file__).parent
    files = {path.stem for path in folder.glob("*.py") if not path.stem.endswith("_test")}
    assert files - NO_KIND == set(KINDS)
    assert all(name == kind.name for name, kind in KINDS.items())


@pytest.mark.parametrize("name", KINDS)
def test_a_kinds_example_of_a_level_fits_its_pattern(name: str) -> None:
    kind = KINDS[name]
    examples = re.findall(r'"([^"]*)"', kind.level)
    assert examples
    assert all(re.fullmatch(kind.pattern, example) for example in examples)
    assert not any(map(kind.refuses, examples))


@pytest.mark.parametrize("name", KINDS)
def test_a_number_that_no_kernel_counts_to_is_refused_before_anything_starts(name: str) -> None:
    """It overflowed where it was packed for the kernel, or a file took it for nothing."""
    kind = KINDS[name]
    examples = re.findall(r'"([^"]*)"', kind.level)
    huge = {
        f"{one[: match.start()]}{'9' * 25}{one[match.end() :]}"
        for one in examples
        for match in re.finditer(r"(?<![.\d])\d+", one)
    }
    levels = [level for level in huge if re.fullmatch(kind.pattern, level)]
    assert levels or not huge or name in BOUNDED
    for level in levels if name != "null" else ():
        with contextlib.suppress(ValueError):
            assert kind.refuses(level) or (kind.cpus and kind.cpus(level)), level


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ("egress=0.4kB/s", "1000 bytes a second"),
        ("io_limit=read:10MB/s+write:1kB/s", "64kB/s"),
        ("frequency=max:2GHz+max:3GHz", "max occurs twice"),
        ("frequency=governor:performance+turbo:on+governor:powersave", "governor occurs twice"),
        ("policy=bvt,warp=1ms,warp=2ms", "warp occurs twice"),
        ("policy=bvt,weight=101", "0.01 to 100"),
        ("memory_limit=8589934592GiB", "no limit"),
        ("llc_ways=0x1ffffffff", "32 ways"),
        ("rps=0,70000", "counts that far"),
    ],
)
def test_a_level_that_means_two_things_or_none_is_refused(level: str, message: str) -> None:
    name, _, level = level.partition("=")
    assert re.fullmatch(KINDS[name].pattern, level)
    assert message in KINDS[name].refuses(level)


def test_an_unknown_knob_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpecFault) as caught:
        knobs.kind("cpusets")
    assert caught.value.fix == "did you mean cpuset?"


def test_null_changes_nothing(book: Book) -> None:
    knob = KINDS["null"].build(Turned(label="web", leader=os.getpid(), book=book))
    knob.apply("7")
    assert (knob.read(), knob.verify().verdict, book.count) == ("7", "unknown", 0)
    knob.restore()
    assert knob.read() == ""


def test_threads_are_left_the_level_and_have_their_own_back(
    server: subprocess.Popen[str], book: Book
) -> None:
    knob, before, first, last = (
        cpuset(server, book),
        allowed(server),
        *map(str, (CPUS[0], CPUS[-1])),
    )
    assert knob.read() == ALL
    assert knob.verify().verdict == "unknown"
    knob.apply(first)
    assert allowed(server) == [first] * 4
    knob.apply(last)
    assert allowed(server) == [last] * 4
    assert knob.read() == last
    knob.apply(ALL)
    assert allowed(server) == before  # the pinned one is pinned as it was
    assert len(book.open) == 1  # what was noted before is in the last entry
    knob.apply(first)
    knob.restore()
    assert allowed(server) == before
    assert not book.open


def test_a_service_can_be_left_more_than_it_had(server: subprocess.Popen[str], book: Book) -> None:
    for task in proc.tasks(server.pid):
        os.sched_setaffinity(task.tid, {CPUS[0]})
    knob = cpuset(server, book)
    knob.apply(ALL)
    assert allowed(server) == [ALL] * 4
    knob.restore()
    assert allowed(server) == [str(CPUS[0])] * 4


def test_what_a_thread_had_and_gets_is_in_the_book_before_it_is_set(
    server: subprocess.Popen[str], book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Setting, list[str]]] = []
    change = settings.change

    def look(setting: Setting, level: str, tree: Tree) -> str:
        assert any(setting in noted for noted in book.open.values())
        seen.append((setting, allowed(server)))
        return change(setting, level, tree)

    before = allowed(server)
    monkeypatch.setattr(settings, "change", look)
    cpuset(server, book).apply(str(CPUS[0]))
    assert seen[0][1] == before
    assert sorted(setting.old for setting, _ in seen) == before
    assert {setting.new for setting, _ in seen} == {str(CPUS[0])}


def test_it_is_measured_where_threads_ran_and_not_where_one_may_leave(
    server: subprocess.Popen[str], book: Book
) -> None:
    assert server.stdin is not None
    assert server.stdout is not None
    knob = cpuset(server, book)
    knob.apply(str(CPUS[0]))
    server.stdin.write("one more thread\n")
    server.stdin.flush()
    server.stdout.readline()
    effect = knob.verify()
    assert effect.verdict == "holds"
    assert "all 5 threads" in effect.why
    stray = proc.tasks(server.pid)[-1].tid
    os.sched_setaffinity(stray, CPUS)
    effect = knob.verify()
    assert effect.verdict == "violated"
    assert str(stray) in effect.why


def test_it_is_not_in_force_where_a_thread_ran_elsewhere_last(
    server: subprocess.Popen[str], book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    knob = cpuset(server, book)
    knob.apply(str(CPUS[0]))
    monkeypatch.setattr(knob, "_counted", lambda: {task.tid: -1 for task in proc.tasks(server.pid)})
    monkeypatch.setattr(knob, "_last_cpu", lambda task: CPUS[-1])
    assert knob.verify().verdict == "violated"
    assert "ran on other CPUs" in knob.verify().why


def test_what_somebody_else_has_set_since_is_theirs(
    server: subprocess.Popen[str], book: Book
) -> None:
    knob = cpuset(server, book)
    knob.apply(str(CPUS[0]))
    stray = proc.tasks(server.pid)[0].tid
    os.sched_setaffinity(stray, {CPUS[-1]})
    knob.restore()
    assert os.sched_getaffinity(stray) == {CPUS[-1]}
    assert not book.open


def test_a_refusal_is_reported(
    server: subprocess.Popen[str], book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "change", lambda setting, level, tree: "Operation not permitted")
    with pytest.raises(HostFault) as caught:
        cpuset(server, book).apply(str(CPUS[0]))
    assert "Operation not permitted" in caught.value.what
    assert caught.value.at == "services.web.knobs.cpuset"


def test_a_text_is_set_read_back_and_put_back_unless_it_was_changed_since(tmp_path: Path) -> None:
    tree, path = Tree(tmp_path), tmp_path / "sys/cpu.max"
    path.parent.mkdir()
    path.write_text("max 100000\n")
    setting = Setting(
        kind=TEXT, what="quota", path="/sys/cpu.max", old="max 100000", new="20000 100000"
    )
    assert settings.change(setting, setting.new, tree) == ""
    assert settings.read(setting, tree) == "20000 100000"
    assert settings.put_back(setting, tree) == ""
    assert path.read_text() == "max 100000"
    path.write_text("30000 100000")
    assert settings.put_back(setting, tree) == ""
    assert path.read_text() == "30000 100000"
    path.unlink()
    assert settings.change(setting, setting.new, tree) == ""  # it is gone
