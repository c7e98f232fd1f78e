"""Who begins and who ends within a window: what each used is counted, and of no one else."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.host.tree import Tree
from sojourn.knobs.testing import put
from sojourn.places import proc
from sojourn.places.foreign import Foreign
from sojourn.questions.blame import counters
from sojourn.questions.blame.counters import Counters, Thread, Threads, Use
from sojourn.text import schedstat

NOW = 1_000  # ticks at the first reading


def use(pid: int, cpu_ns: int, *, parent: int = 1, ended_ns: int = 0, start: int = 5) -> Use:
    return Use(
        pid=pid,
        start_ticks=start,
        parent=parent,
        cpu_ns=cpu_ns,
        ended_ns=ended_ns,
        disk_bytes=10 * (cpu_ns + ended_ns),
    )


def used(before: list[Use], after: list[Use]) -> tuple[int, int, int]:
    table = counters.used(before, after, NOW)
    assert table["disk_bytes"] == 10 * table["cpu_ns"]
    return table["cpu_ns"], table["disk_bytes"], table["members"]


def test_one_that_ends_takes_nothing_from_what_another_used() -> None:
    assert used([use(7, 900), use(8, 100)], [use(8, 150)]) == (50, 500, 2)


def test_one_that_begins_counts_from_its_start_and_one_that_was_overlooked_does_not() -> None:
    assert used([use(7, 900)], [use(7, 910), use(8, 30, start=NOW)]) == (40, 400, 2)
    assert used([use(7, 900)], [use(7, 910), use(8, 30_000)]) == (10, 100, 2)


def test_what_a_child_used_before_counts_once_where_its_parent_gets_it() -> None:
    """Of 640 that a compiler used until it ended, 600 were used before the window."""
    make, compiler = use(7, 50), use(8, 600, parent=7)
    assert used([make, compiler], [use(7, 55, ended_ns=640)]) == (45, 450, 2)
    grown = use(9, 100, parent=8)  # it ended too, and so did its parent
    assert used([make, compiler, grown], [use(7, 50, ended_ns=705)]) == (5, 50, 3)
    unwaited = use(7, 70)  # the parent does not wait for its children: it keeps its own
    assert counters.used([make, compiler], [unwaited], NOW)["cpu_ns"] == 20


def test_a_number_that_was_used_again_is_another_process() -> None:
    assert used([use(7, 900)], [use(7, 30, start=NOW + 1)]) == (30, 300, 2)
    assert used([], []) == (0, 0, 0)


def test_programs_that_a_suspect_has_started_and_outlived_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = proc.stat(os.getpid())
    assert one is not None
    now = replace(one, cpu_ns=0, ended_ns=0)
    monkeypatch.setattr(proc, "stat", lambda _: now)
    reader = Counters(Tree(), list, (0,))
    before = reader.of([one.pid])
    now = replace(one, cpu_ns=5, ended_ns=7)
    assert counters.used(before, reader.of([one.pid]), NOW)["cpu_ns"] == 12
    now = replace(one, state="Z")
    assert reader.of([one.pid]) == ()


def thread(root: Path, pid: int, tid: int, ran: int, waited: int) -> Thread:
    put(root, schedstat.path(pid, tid), f"{ran} {waited} 1")
    return pid, tid


def test_threads_that_load_starts_are_counted(tmp_path: Path) -> None:
    """A server starts one for each connection, after whoever watches it has entered."""
    known = [thread(tmp_path, 7, 7, 100, 10)]
    reader = Counters(Tree(tmp_path), lambda: known, (0,))
    reader.look()
    known.append(thread(tmp_path, 7, 8, 5_000, 50))
    before = reader.of_service()
    known = [thread(tmp_path, 7, 8, 6_000, 70), thread(tmp_path, 7, 9, 300, 3)]
    result = counters.served(before, reader.of_service())
    assert (result.run_ns, result.wait_ns) == (1_300, 23)  # one has ended, one is new
    known.append(thread(tmp_path, 12, 12, 9_000, 9_000))  # of a process that no one saw before
    assert counters.served(before, reader.of_service()) == result


def test_threads_are_found_anew_at_each_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    each: list[dict[int, tuple[int, ...]]] = [{7: (7,)}, {7: (7, 8), 9: (9,)}]
    looks = iter(each)

    def look(_: float) -> dict[int, Any]:
        return {pid: SimpleNamespace(tids=tids) for pid, tids in next(looks).items()}

    monkeypatch.setattr(counters, "Members", lambda *_: SimpleNamespace(look=look))
    live: Any = SimpleNamespace(process=SimpleNamespace(pid=7))
    find = Threads(live, Tree())
    assert find() == [(7, 7)]
    assert find() == [(7, 7), (7, 8), (9, 9)]


def test_threads_of_a_service_that_the_lab_did_not_start_are_found_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counters, "SEARCH_S", 1e9)
    foreign = Foreign(os.getpid())
    members = [SimpleNamespace(pid=os.getpid())]
    live: Any = SimpleNamespace(process=foreign, members=lambda: members)
    find = Threads(live, Tree())
    assert (os.getpid(), os.getpid()) in find()
    members.clear()  # to search takes long: it is not done at each reading
    assert (os.getpid(), os.getpid()) in find()
