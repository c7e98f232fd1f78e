"""Where a process goes back to: its own group, or a parent's."""

from __future__ import annotations

import os
from typing import Any

import pytest

from sojourn.knobs.homes import KEY, Homes
from sojourn.knobs.testing import MemoryBook
from sojourn.places import proc

ME, PARENT = os.getpid(), os.getppid()


def ticks(pid: int) -> int:
    one = proc.stat(pid)
    assert one is not None
    return one.start_ticks


def test_who_was_started_since_goes_where_the_nearest_of_its_parents_goes() -> None:
    homes = Homes({PARENT: (ticks(PARENT), "/parent")})
    assert (homes.of(PARENT, "/first"), homes.of(ME, "/first")) == ("/parent", "/parent")
    homes.by_pid[ME] = ticks(ME), "/own"
    assert homes.of(ME, "/first") == "/own"
    assert homes.of(1 << 30, "/first") == "/first", "there is no such process"


def test_a_number_that_was_used_again_goes_with_the_first_one() -> None:
    homes = Homes({PARENT: (ticks(PARENT) + 1, "/parent"), ME: (ticks(ME) + 1, "/own")})
    assert homes.of(ME, "/first") == "/first"


def test_it_is_noted_once_and_only_where_there_is_more_than_one_place() -> None:
    book, homes = MemoryBook(), Homes()
    facts = {"folder": "/labs", "home": "/first", "root": "/"}
    homes.note(book, "cgroup", {ME: "/first"}, **facts)
    assert not book.open, "the entry of the group says where all go"
    homes.note(book, "cgroup", {PARENT: "/parent"}, **facts)
    homes.note(book, "cgroup", {ME: "/elsewhere"}, **facts)
    ((kind, noted),) = book.open.values()
    assert (kind, noted["folder"]) == ("cgroup", "/labs")
    again = Homes.of_json(noted[KEY])
    assert again.by_pid == {ME: (ticks(ME), "/first"), PARENT: (ticks(PARENT), "/parent")}


@pytest.mark.parametrize("rows", [[["1", 2, "/x"]], [[1, 2]], [[1, 2.0, "/x"]], [[1, 2, 3]], 7])
def test_what_is_no_such_table_is_refused(rows: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Homes.of_json(rows)
