"""Workers are put on CPUs in turn, and who works for one goes where it goes."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator

import pytest

from sojourn.errors import RunFault
from sojourn.places.pinning import Workers, one_each


@pytest.fixture
def pids() -> Iterator[list[int]]:
    """Four programs that do nothing."""
    made = [subprocess.Popen(["sleep", "60"]) for _ in range(4)]
    yield [one.pid for one in made]
    for one in made:
        one.kill()
        one.wait()


def test_a_crew_is_pinned_with_its_worker(pids: list[int]) -> None:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    first, second, *others = pids
    crew = {first: (others[0],), second: (others[1],)}
    workers = Workers(label="w", count=2, choose=lambda _: (first, second), crew=lambda _: crew)
    pinned = one_each(workers, [], cpus)
    wanted = {first: cpus[0], second: cpus[-1], others[0]: cpus[0], others[1]: cpus[-1]}
    assert pinned.pins == wanted
    assert {pid: os.sched_getaffinity(pid) for pid in pids} == {
        pid: {cpu} for pid, cpu in wanted.items()
    }
    assert pinned.text.startswith("2 workers, each with a crew of 1, one to a CPU")


def test_a_worker_that_ends_before_it_is_read_back_is_a_fault_of_the_service(
    pids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(tid: int) -> set[int]:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH), str(tid))

    cpus = sorted(os.sched_getaffinity(0))[:1]
    monkeypatch.setattr(os, "sched_getaffinity", gone)
    workers = Workers(label="w", count=1, choose=lambda _: (pids[0],))
    with pytest.raises(RunFault, match="cannot be pinned to CPU"):
        one_each(workers, [], cpus)


def test_no_one_is_pinned_where_workers_cannot_be_distinguished(pids: list[int]) -> None:
    before = [os.sched_getaffinity(pid) for pid in pids]
    crew = {pids[0]: (pids[1],)}
    workers = Workers(label="w", count=2, choose=lambda _: (pids[0],), crew=lambda _: crew)
    assert one_each(workers, [], [min(before[0])]).pins == {}
    assert [os.sched_getaffinity(pid) for pid in pids] == before
