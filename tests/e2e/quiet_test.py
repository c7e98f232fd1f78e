"""The lab sleeps while load runs: its own wake-ups are counted by the kernel, and no time is."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import host, run
from sojourn.places import proc
from sojourn.plan import Point
from sojourn.samples import resources
from sojourn.spec import Study

pytestmark = pytest.mark.e2e

Measure = Callable[[Study, Point], Path]
Needs = Callable[[str], None]
#: A line wakes it, and what it does then may be kept waiting once; nothing else does.
PER_LINE = 2


def switches(pid: int) -> dict[int, int]:
    """How often each thread of a process gave up its CPU, to wait."""
    numbers = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        table = dict(line.split(":\t") for line in (task / "status").read_text().splitlines())
        numbers[int(task.name)] = int(table["voluntary_ctxt_switches"])
    return numbers


def sleeps(pid: int) -> int:
    """How often a process has begun to wait, or is about to: one that is awake will once more."""
    count = sum(switches(pid).values())
    of = proc.stat(pid)
    return count + (of is not None and of.state != "S")


def children(parent: int) -> list[int]:
    """Processes of a parent that have not ended."""
    of_all = {pid: of for pid in proc.pids() if (of := proc.stat(pid))}
    return [pid for pid, of in of_all.items() if of.parent == parent and of.state not in "ZX"]


def wardens() -> list[int]:
    """The small parents of what this process has started."""
    return children(os.getpid())


def test_while_load_runs_only_its_lines_wake_the_lab(
    lab: SimpleNamespace, needs: Needs, measure: Measure, session: run.Session
) -> None:
    needs("memcached")
    before = threading.active_count()
    seen: list[tuple[dict[int, int], dict[int, int], int]] = []

    def look(event: run.Event) -> None:
        if event.second and not event.second["ended"]:
            of_lab = switches(os.getpid())
            of_wardens = {pid: sleeps(pid) for pid in wardens()}
            # A line that is read late says nothing: what has ended woke its warden.
            if all(map(children, of_wardens)):
                seen.append((of_lab, of_wardens, threading.active_count()))

    session.show = look
    folder = measure(lab.study("memcached"), lab.point("memcached", measure_s=5.0))
    if seen and len(seen[-1][1]) < len(seen[0][1]):
        seen.pop()  # the last line alone may be read after the generator has ended
    if len(seen) < 3:
        pytest.skip("fewer than three lines were read while the generator ran")
    (lab_first, wardens_first, _), (lab_last, wardens_last, _) = seen[0], seen[-1]
    assert {threads for *_, threads in seen} == {before}, "no thread is beside the load"
    own = threading.get_native_id()
    woken = {tid: count - lab_first.get(tid, 0) for tid, count in lab_last.items()}
    assert woken.pop(own) <= PER_LINE * (len(seen) - 1)
    assert not any(woken.values()), "threads of libraries sleep"
    assert wardens_first == wardens_last
    assert len(wardens_first) == 3, "of the service, the sampler and the generator"
    used = resources.read(folder)
    assert used is not None
    assert used.samples >= 4, "samples were taken all the same"


def test_by_itself_the_lab_asks_for_a_line_only_when_the_load_has_ended(
    lab: SimpleNamespace, needs: Needs, tmp_path: Path, state: Path
) -> None:
    needs("memcached")
    lines: list[bool] = []

    def look(event: run.Event) -> None:
        if event.second:
            lines.append(event.second["ended"])

    folder = tmp_path / "point"
    folder.mkdir()
    with run.Session(host.read(sample_s=0), show=look, state=state) as made:
        run.execute(lab.study("memcached"), lab.point("memcached", measure_s=2.0), folder, made)
    assert lines
    assert all(lines), "one when what was preloaded is, and one when the load has ended"
