"""Policies of a script's threads, and of probes that feel them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.errors import HostFault
from sojourn.host import rights
from sojourn.host.tree import Tree, has_kernel
from sojourn.knobs import (
    KINDS,
    Asked,
    Offered,
    Turned,
    attr,
    cpu_weight,
    ordered,
    policy,
    policy_level,
    settings,
)
from sojourn.knobs.attr import Attr
from sojourn.knobs.groups_test import alive
from sojourn.knobs.policy import Policy
from sojourn.knobs.policy_level import level_text, meant
from sojourn.knobs.probe import Probe
from sojourn.knobs.settings import Setting
from sojourn.knobs.testing import MemoryBook, put
from sojourn.places import proc
from sojourn.places.task import Task

PRIVILEGED = pytest.mark.skipif(os.geteuid() != 0, reason="needs root (CAP_SYS_NICE)")
THREADS = """
import os, threading, time
os.nice(3)
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    """Two threads; niced, so that what is put back is not the usual."""
    yield from alive(THREADS)


@pytest.fixture
def book() -> MemoryBook:
    return MemoryBook()


@pytest.fixture
def knob(server: subprocess.Popen[str], book: MemoryBook) -> Policy:
    return Policy(Turned(label="web", leader=server.pid, book=book))


def attrs(leader: int) -> list[str]:
    return [attr.get(task.tid).text for task in proc.tasks(leader)]


def test_a_thread_that_ends_before_it_is_changed_is_no_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As most threads of a group that starts many do: it is read, ends, and is then written."""
    with subprocess.Popen(["sleep", "60"]) as server:
        ticks = settings.start_ticks(Tree(), server.pid, server.pid)
        owner: dict[str, Any] = {"pid": server.pid, "tid": server.pid, "start_ticks": ticks}
        one = Setting(kind=settings.POLICY, what="", old="", new=meant("batch").text, **owner)
        put_attr = attr.put

        def late(tid: int, wanted: Attr) -> None:
            server.kill()
            server.wait(20)
            put_attr(tid, wanted)

        monkeypatch.setattr(attr, "put", late)
        assert settings.change(one, one.new, Tree()) == ""


def test_a_thread_that_lives_and_is_not_changed_is_a_refusal(
    server: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_tid: int, _wanted: Attr) -> None:
        raise PermissionError(1, "Operation not permitted")

    ticks = settings.start_ticks(Tree(), server.pid, server.pid)
    owner: dict[str, Any] = {"pid": server.pid, "tid": server.pid, "start_ticks": ticks}
    one = Setting(kind=settings.POLICY, what="", old="", new=meant("batch").text, **owner)
    monkeypatch.setattr(attr, "put", refused)
    assert settings.change(one, one.new, Tree()) == "Operation not permitted"


@PRIVILEGED
@pytest.mark.parametrize(
    "level", ["nice:-5", "batch", "idle", "fifo:1", "rr:2", "other", "slice:3ms"]
)
def test_every_thread_gets_it_and_has_its_own_back(
    knob: Policy, server: subprocess.Popen[str], book: MemoryBook, level: str
) -> None:
    if KINDS["policy"].lacks(Asked(level=level)):
        pytest.skip(f"this kernel has no {level}")
    before = attrs(server.pid)
    assert len(before) == 2
    knob.apply(level)
    assert policy_level.meant(knob.read()) == policy_level.meant(level)
    assert attrs(server.pid) == [policy_level.meant(level).text] * 2
    if level.startswith(("fifo", "rr")):
        assert {os.sched_getscheduler(t.tid) for t in proc.tasks(server.pid)} == {
            policy_level.meant(level).policy
        }
    ((_, facts),) = book.open.values()
    noted = [one for one in facts["settings"] if one["kind"] == settings.POLICY]
    assert sorted(one["old"] for one in noted) == sorted(before)
    knob.restore()
    assert attrs(server.pid) == before
    assert not book.open


@PRIVILEGED
def test_a_nice_value_is_the_sessions_too_where_the_kernel_groups_by_it(
    knob: Policy,
    server: subprocess.Popen[str],
    book: MemoryBook,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if Tree().number(ordered.GROUPED) != 1:
        pytest.skip("this kernel does not group by session (sched_autogroup_enabled)")
    group = Path(f"/proc/{server.pid}/autogroup")
    before = group.read_text()
    knob.apply("nice:7")
    knob.apply("nice:5")
    assert group.read_text().split()[-1] == "5"
    assert knob.verify().verdict in {"holds", "unknown"}
    ((_, facts),) = book.open.values()
    (noted,) = (one for one in facts["settings"] if one["kind"] == settings.AUTOGROUP)
    group.write_text("3")
    assert "nice value 3" in knob.verify().why
    group.write_text("5")
    assert not knob._unordered(meant("nice:5"))
    for other in alive(THREADS):
        of = [SimpleNamespace(session=other.pid, pid=other.pid)]
        monkeypatch.setattr("sojourn.places.proc.session", lambda _, of=of: of)
        assert f"the session of process {other.pid}" in knob._unordered(meant("nice:5"))
    monkeypatch.undo()
    assert settings.put_back(Setting.from_json(noted), Tree()) == ""  # as after a crash
    assert group.read_text() == before
    knob.restore()
    assert group.read_text() == before
    assert not book.open


@PRIVILEGED
def test_after_a_crash_the_book_is_enough_to_put_it_back(
    knob: Policy, server: subprocess.Popen[str], book: MemoryBook
) -> None:
    before = attrs(server.pid)
    knob.apply("fifo:1")
    knob.apply("idle")
    ((_, facts),) = book.open.values()
    for one in facts["settings"]:
        assert settings.put_back(Setting.from_json(one), Tree()) == ""
    assert attrs(server.pid) == before


@PRIVILEGED
def test_a_thread_that_lost_it_is_named(knob: Policy, server: subprocess.Popen[str]) -> None:
    knob.apply("batch")
    stray = proc.tasks(server.pid)[-1].tid
    attr.put(stray, Attr(attr.OTHER))
    assert knob.verify().verdict == "violated"
    assert str(stray) in knob.verify().why
    assert "1 of 2 threads" in knob.verify().why


@PRIVILEGED
@pytest.mark.parametrize("level", ["nice:15", "nice:-15", "idle", "fifo:1"])
def test_a_policy_is_measured_by_burners_and_one_that_does_nothing_is_caught(
    level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu = min(os.sched_getaffinity(0))
    effect = ordered.effect(policy_level.meant(level), cpu)
    # Where the kernel groups by session, idle has no effect beyond it, and that is reported.
    is_fixed = level == "idle" and "autogroup" in effect.why
    assert effect.verdict in {"holds", "unknown"} or is_fixed, effect.why
    monkeypatch.setattr(attr, "put", lambda tid, wanted: None)
    monkeypatch.setattr(ordered, "GROUPED", "/proc/none")  # nor is anything given to the session
    effect = ordered.effect(policy_level.meant(level), cpu)
    assert effect.verdict in {"violated", "unknown"}, effect.why


@PRIVILEGED
def test_a_deadline_is_in_force_and_one_that_does_nothing_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = os.sched_getaffinity(0)
    try:
        effect = ordered.effect(policy_level.meant("deadline:2ms/20ms"), min(home))
    except OSError as error:
        pytest.skip(f"no deadline can be had here: {error.strerror}")
    assert effect.verdict in {"holds", "unknown"}, effect.why
    monkeypatch.setattr(attr, "put", lambda tid, wanted: None)
    effect = ordered.effect(policy_level.meant("deadline:2ms/20ms"), min(home))
    assert effect.verdict in {"violated", "unknown"}, effect.why


@pytest.mark.parametrize(
    ("share", "free", "verdict"),
    [(0.1, 0.9, "holds"), (0.9, 0.9, "violated"), (0.1, 0.1, "unknown"), (0.1, 0.0, "unknown")],
)
def test_a_deadline_is_measured_only_where_there_was_more_to_be_had(
    share: float, free: float, verdict: str
) -> None:
    effect = ordered.judge_deadline(policy_level.meant("deadline:2ms/20ms"), share, free)
    assert effect.verdict == verdict
    assert ("not measured: one without it" in effect.why) == (verdict == "unknown")


@pytest.mark.parametrize("is_grouped", [True, False])
def test_a_policy_is_measured_from_one_session_to_another(
    is_grouped: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(tmp_path, ordered.GROUPED, str(int(is_grouped)))
    sessions: list[set[int]] = []

    def both(probe: Probe, others: Probe) -> tuple[float, float]:
        sessions.append({os.getsid(0), os.getsid(probe.pid), os.getsid(others.pid)})
        return 0.15, 0.15

    monkeypatch.setattr(cpu_weight, "both", both)
    cpu = min(os.sched_getaffinity(0))
    effect = ordered.effect(policy_level.meant("idle"), cpu, Tree(tmp_path))
    assert [len(result) for result in sessions] == [3]
    assert effect.verdict == "violated"
    assert ("other sessions do not feel it" in effect.why) is is_grouped


@pytest.mark.parametrize("level", ["batch", "slice:3ms", "other"])
def test_what_changes_no_share_is_not_reported_as_in_force(level: str) -> None:
    assert ordered.effect(policy_level.meant(level), 0).verdict == "unknown"


def test_a_deadline_for_bound_threads_is_refused_with_its_fix(
    knob: Policy, server: subprocess.Popen[str]
) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs to bind a thread to one of them")
    for task in proc.tasks(server.pid):
        os.sched_setaffinity(task.tid, {cpus[0]})
    with pytest.raises(HostFault) as caught:
        knob.apply("deadline:2ms/20ms")
    assert "all CPUs" in caught.value.fix


@pytest.mark.parametrize(
    "level",
    [
        "other",
        "batch",
        "idle",
        "nice:5",
        "nice:-5",
        "fifo:10",
        "rr:1",
        "fifo:rate",
        "deadline:2ms/10ms",
        "slice:3ms",
    ],
)
def test_what_is_reported_is_a_level_that_means_the_same(level: str) -> None:
    again = policy_level.level_text(policy_level.meant(level))
    assert re.fullmatch(KINDS["policy"].pattern, again)
    assert policy_level.meant(again) == policy_level.meant(level)


def test_what_it_is_on_is_that_of_the_first_thread_that_lives(book: MemoryBook) -> None:
    gone, own = (Task(pid=1, tid=tid, name="t", command="") for tid in (1 << 22, os.getpid()))
    knob = Policy(Turned(label="web", leader=os.getpid(), book=book))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Turned, "tasks", lambda _: (gone, own))
        assert knob.read() == level_text(attr.get(own.tid))
        patched.setattr(Turned, "tasks", lambda _: (gone,))
        assert not knob.read()


def test_attributes_survive_the_journal() -> None:
    one = policy_level.meant("deadline:2ms/10ms")
    assert Attr.of(one.text) == one


@pytest.mark.parametrize(
    ("release", "has_slices"),
    [
        ("6.12-amd64", True),
        ("6.12+", True),
        ("6.12-rc3", True),
        ("7.0", True),
        ("6.11-amd64", False),
        ("6.9.0-1", False),
        ("next", True),
    ],
)
def test_a_kernel_is_known_by_its_first_two_numbers(
    release: str, tmp_path: Path, *, has_slices: bool
) -> None:
    """What a distribution writes behind them ended a check with an unexpected error."""
    put(tmp_path, "/proc/sys/kernel/osrelease", release)
    lack = policy.lacks(Asked(level="slice:3ms", tree=Tree(tmp_path)))
    assert (lack is None) is has_slices
    assert has_kernel(Tree(tmp_path), 5, 15), "as `cpu_idle` asks"


def test_a_kernel_without_slices_is_reported(tmp_path: Path) -> None:
    put(tmp_path, "/proc/sys/kernel/osrelease", "6.1.0-9")
    lack = policy.lacks(Asked(level="slice:3ms", tree=Tree(tmp_path)))
    assert lack is not None
    assert "6.12" in lack.fix


@PRIVILEGED
@pytest.mark.parametrize("word", ["fifo", "rr"])
def test_rate_monotonic_is_the_priority_among_those_that_are_there(
    knob: Policy, server: subprocess.Popen[str], book: MemoryBook, word: str
) -> None:
    fast, slow = Offered(load=0.1, rps=9_000.0), Offered(load=0.5, rps=400.0)
    before = attrs(server.pid)
    knob.apply(f"{word}:rate")
    for label, priority in (("fast", 2), ("slow", 1)):
        knob.among(label, {"fast": fast, "slow": slow})
        assert {attr.get(task.tid).priority for task in proc.tasks(server.pid)} == {priority}
    knob.among("fast", {"fast": fast})
    assert knob.read() == f"{word}:1"
    knob.apply("other")
    knob.among("fast", {"fast": fast, "slow": slow})  # its level does not follow from anybody
    assert knob.read() == "other"
    knob.restore()
    assert attrs(server.pid) == before
    assert not book.open


def test_a_deadline_of_bound_threads_is_refused_before_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(tid: int, wanted: Attr) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(rights, "has", lambda *_: True)
    monkeypatch.setattr(attr, "put", refuse)
    lack = policy.lacks(Asked(level="deadline:2ms/20ms"))
    assert lack is not None
    assert "bound to a CPU" in lack.missing


@pytest.mark.parametrize(("uid", "fix"), [(0, "on the host itself"), (1000, "as root")])
def test_without_the_right_to_order_threads_a_class_is_refused_first(
    tmp_path: Path, uid: int, fix: str
) -> None:
    """As in a container in which root lacks CAP_SYS_NICE."""
    put(tmp_path, "proc/self/status", f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}\nCapEff:\ta80425fb\n")
    asked = Asked(level="fifo:1", tree=Tree(tmp_path))
    lack = KINDS["policy"].lacks(asked)
    assert lack is not None
    assert lack.missing == "the right to order threads (CAP_SYS_NICE)"
    assert fix in lack.fix
