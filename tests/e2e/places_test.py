"""Services in every kind of container as on bare metal: workers, knobs, networks, two at once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import knobs, places, samples
from sojourn.errors import Fault
from sojourn.knobs import priority
from sojourn.places import Launch, Place, cgroups, netns, proc
from sojourn.places.contained import Contained
from sojourn.places.process import Process
from sojourn.plan import Point
from sojourn.run.journal import Journal
from sojourn.spec import Study

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

Measure = Callable[[Study, Point], Path]
Needs = Callable[[str], None]
Starts = Callable[..., Process]
CONTAINERS = [name for name, kind in places.KINDS.items() if isinstance(kind.build(), Contained)]
FIXED = ("lxc.pivot", "payload", "supervisor")  # names that runtimes give their groups by default
#: Turned at once.
LEVELS = {
    "cpu_quota": "150%",
    "cpu_weight": "500",
    "memory_limit": "256MiB",
    "io_limit": "4MB/s",
    "egress": "50MB/s",
    "policy": "nice:5",
}


@pytest.fixture(params=CONTAINERS)
def kind(request: pytest.FixtureRequest, needs_place: Needs) -> str:
    """Each kind of container; skips where this machine lacks what it needs."""
    name: str = request.param
    needs_place(name)
    return name


@contextmanager
def entered(name: str, state: Path) -> Iterator[tuple[Place, Starts]]:
    """A place with a journal of its own; and what starts a program in it. Left at the end."""
    state.mkdir()
    place, book = places.build(name), Journal.create(state)

    def start(*argv: str, cwd: Path = state) -> Process:
        return place.start(Launch(argv[0], argv, cwd=cwd, ledger=book, log=state / "log"))

    try:
        place.enter(book)
        yield place, start
    finally:
        place.leave()
        book.close()
        (state / "log").unlink(missing_ok=True)


def test_every_worker_is_found_by_the_machines_numbers_and_pinned(
    lab: SimpleNamespace, needs: Needs, measure: Measure, kind: str
) -> None:
    needs("nginx")
    folder = measure(lab.study("nginx", place=kind), lab.point("nginx"))
    served = json.loads((folder / "service.json").read_text())
    workers = {task.pid for task in proc.tasks(served["pid"])} - {served["pid"]}
    assert {int(pid) for pid in served["pins"]} == workers
    assert len(workers) == 2
    for pid, cpu in served["pins"].items():
        assert os.sched_getaffinity(int(pid)) == {cpu}
    spaces = {Path(f"/proc/{pid}/ns/pid").readlink() for pid in (*workers, served["pid"])}
    assert len(spaces) == 1
    assert Path("/proc/self/ns/pid").readlink() not in spaces
    host = json.loads((folder / "host.json").read_text())
    assert host["server_switches"]["voluntary"] > 0
    assert host["server_cpu_s"] > 0
    assert lab.wrong(folder) == {}


def test_every_knob_of_a_service_is_set_and_felt_there_and_nothing_is_left(
    lab: SimpleNamespace, needs: Needs, measure: Measure, kind: str
) -> None:
    needs("memcached")
    asked = {n: v for n, v in LEVELS.items() if not knobs.kind(n).lacks(knobs.Asked(level=v))}
    folder = measure(lab.study("memcached", place=kind, knobs=asked), lab.point("memcached"))
    reports: dict[str, Any] = json.loads((folder / "service.json").read_text())["knobs"]
    assert {*reports} == {*asked}
    for name, knob in reports.items():
        assert knob["level"] == asked[name]
        assert knob["felt"] in {"holds", "unknown"}, (name, knob["why"])
        assert knob["felt"] == "holds" or "back" in knob["why"], (name, knob["why"])


def test_it_is_reached_in_a_network_of_its_own(
    lab: SimpleNamespace, needs: Needs, measure: Measure, kind: str, needs_place: Needs
) -> None:
    needs("memcached")
    needs_place("netns")
    folder = measure(lab.study("memcached", place=f"{kind}:netns"), lab.point("memcached"))
    served = json.loads((folder / "service.json").read_text())
    assert served["host"] not in {"127.0.0.1", netns.UNKNOWN}
    own, its = (Path(f"/proc/{pid}/ns/net").readlink() for pid in ("self", served["pid"]))
    assert own != its
    assert samples.read(folder).achieved_rps > 0


def test_its_threads_may_have_the_priority_that_shields_them_on_bare_metal(
    kind: str, state: Path, tmp_path: Path
) -> None:
    def shielded(name: str, at: Path) -> bool:
        with entered(name, at) as (_, start):
            made = start("/bin/sleep", "600")
            try:
                return priority.give(made.pid) == 1
            except priority.RefusedError:
                return False
            finally:
                made.stop(term_s=0.1)

    def others_have_budget() -> bool:
        reports = (one for at in cgroups.mounts() for one in at.glob(f"*/{cgroups.BUDGET}"))
        return any(int(one.read_text()) for one in reports)

    if others_have_budget():
        pytest.skip("another container of this machine has the real-time budget")
    as_on_metal = shielded("local", tmp_path / "beside")
    assert shielded(kind, state) == as_on_metal or others_have_budget()


def test_two_containers_at_once_do_not_meet(kind: str, state: Path, tmp_path: Path) -> None:
    with ExitStack() as both:
        (first, start), (_, start_beside) = (
            both.enter_context(entered(kind, at)) for at in (state, tmp_path / "beside")
        )
        one, another = start("/bin/sleep", "600"), start_beside("/bin/sleep", "600")
        try:
            one.stop(term_s=0.1)
            first.leave()
            assert proc.stat(one.pid) is None
            assert another.poll() is None
            assert proc.cpu_ns(another.pid) >= 0
            assert [task.pid for task in proc.tasks(another.pid)] == [another.pid]
        finally:
            another.stop(term_s=0.1)


def test_a_runtime_that_refuses_is_told_in_its_own_words(kind: str, state: Path) -> None:
    """It is to bind a folder that does not exist."""
    gone = state / "gone"
    with entered(kind, state) as (_, start), pytest.raises(Fault) as caught:
        start("/bin/true", cwd=gone)
    assert "cannot be started in a container: its runtime" in caught.value.what
    assert str(gone) in caught.value.at


def test_no_group_with_a_fixed_name_is_made_at_the_top(kind: str, state: Path) -> None:
    def there() -> set[Path]:
        made = (at / name for at in cgroups.mounts() for name in FIXED)
        return {group for group in made if group.exists()}

    before = there()
    with entered(kind, state) as (_, start):
        made = start("/bin/sleep", "600")
        seen = there()
        made.stop(term_s=0.1)
    assert seen == there() == before
