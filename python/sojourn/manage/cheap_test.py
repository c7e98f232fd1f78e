"""What a look leaves out to be cheap: nothing that a rule or a reader would miss."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.controllers import KINDS, replay
from sojourn.controllers.look import Look, Window
from sojourn.controllers.named import rule
from sojourn.controllers.replay_test import recorded, replayed
from sojourn.manage import config as configs
from sojourn.manage import source, testing
from sojourn.manage.audit import Audit
from sojourn.manage.facts import NO_PROCESS
from sojourn.manage.groups import Managed
from sojourn.manage.leading import QUEUES_SHARE, Leading
from sojourn.manage.leading_test import server
from sojourn.manage.signals import Signals
from sojourn.manage.source import Source
from sojourn.manage.source_test import LINE
from sojourn.manage.testing import TREE, stand
from sojourn.manage.watch import Watch


@pytest.mark.skipif(bool(testing.lack()), reason=testing.lack() or "-")
def test_a_look_is_the_same_as_one_whose_parts_were_checked(tmp_path: Path) -> None:
    with stand(tmp_path) as here:
        here.more = "traits = []"
        config, cpus = configs.read(here.config()), tuple(sorted(os.sched_getaffinity(0)))
        groups = {n: Managed(n, spec, cpus, TREE) for n, spec in config.groups.items()}
        for one in groups.values():
            one.find()
        watch = Watch(groups, Signals(TREE, cpus), Audit(None, lambda _: None))
        feed = Source(here.lines, "web")
        feed.open()
        for _ in range(20):
            here.window(above=3)
            look = watch.look(feed)
            time.sleep(0.01)
        feed.close()
        again = Look.model_validate_json(look.model_dump_json())
        assert again.model_dump() == look.model_dump()
        assert again == look
        assert Look.model_validate(look.model_dump()).model_dump_json() == look.model_dump_json()
        assert look.groups["web"].windows[1].above is not None


def test_sums_have_no_p99_where_nobody_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To estimate it took a tenth of the manager's CPU time."""
    asked: list[int] = []
    monkeypatch.setattr(source, "p99_of", lambda parts: asked.append(len(parts)))
    one = source.Came()
    for tick in range(20):
        one.add(tick / 10, Window.model_validate(LINE))
    lean = one.windows(1.9, has_p99=False)
    assert (len(lean), asked) == (4, [])
    assert lean[0].p99_ns == LINE["p99_ns"], "that of the newest came with it"
    assert [w.p99_ns for w in lean[1:]] == [None] * 3
    one.windows(1.9)
    assert len(asked) == 3


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.reads_p99])
def test_a_rule_that_is_said_not_to_read_p99_of_sums_decides_the_same_without(name: str) -> None:
    lines = list(recorded(400))

    def lean(line: bytes) -> bytes:
        look = Look.model_validate_json(line)
        web = look.groups["web"]
        first, *sums = web.windows
        less = [one.model_copy(update={"p99_ns": None}) for one in sums]
        web = web.model_copy(update={"windows": (first, *less)})
        groups = {**look.groups, "web": web}
        return look.model_copy(update={"groups": groups}).model_dump_json().encode()

    assert any(len(look.groups["web"].windows) > 1 for look in replay.looks(lines, "made up"))
    assert replayed(name, lines) == replayed(name, [lean(line) for line in lines])
    with rule(name, {}) as ready:
        assert ready.name == name


def test_processes_are_listed_twice_a_second_and_at_once_where_one_has_ended() -> None:
    listed: list[float] = []
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as program:
        pids = [os.getpid(), program.pid]

        def every() -> tuple[int, ...]:
            listed.append(1.0)
            return tuple(pids)

        group: Any = SimpleNamespace(name="web", is_best_effort=False, cpu=None, pids=every)
        group.others, group.spec = {}, SimpleNamespace(pid=1)
        signals = Signals(TREE)
        for tick in range(10):
            signals.of_group(group, 1.0 + tick / 10)
        assert len(listed) == 2
        program.communicate(b"\n")
        program.wait(20)
        pids.pop()
        signals.of_group(group, 2.0)
        assert len(listed) == 3
        assert "cpu" in signals.of_group(group, 2.1)


def test_a_service_that_ends_is_known_to_have_ended_as_soon_as_a_window_is_empty() -> None:
    """Its facts are read each 2 s at most, and its sockets would be those before until then."""
    one = Leading(TREE)
    with server("4") as (pid, _port):
        group: Any = SimpleNamespace(
            name="web", is_best_effort=False, cpu=None, cpuset=None, others={}, disk=""
        )
        group.pids, group.spec = lambda: (pid,), SimpleNamespace(pid=pid, cgroup="")
        _, missing = one.of_group(group, 1.0)
        assert missing.get("accept_queue") != NO_PROCESS
    _, missing = one.of_group(group, 1.1)
    assert missing.get("accept_queue") != NO_PROCESS, "it is not read at each look"
    _, missing = one.of_group(group, 1.2, is_quiet=True)
    assert missing["accept_queue"] == NO_PROCESS


def test_queues_are_read_seldom_while_requests_have_answers_and_at_once_when_none_has() -> None:
    one = Leading(TREE)
    if one._diag is None:
        pytest.skip("sock_diag is not there, or would load a module")
    one.is_each = False
    with server("4") as (pid, _port):
        group: Any = SimpleNamespace(
            name="web", is_best_effort=False, cpu=None, cpuset=None, others={}, disk=""
        )
        group.pids, group.spec = lambda: (pid,), SimpleNamespace(pid=pid, cgroup="")
        one.of_group(group, 1.0)
        seldom = one._states["web"].of_queues._due_s
        signals, _ = one.of_group(group, 1.001)
        assert signals["receive_queue_bytes"].age_ms == 1
        signals, _ = one.of_group(group, 1.002, is_quiet=True)
        assert signals["receive_queue_bytes"].age_ms == 0
        assert one._states["web"].of_queues.share == QUEUES_SHARE
        one.of_group(group, 1.003)
        assert one._states["web"].of_queues.share < QUEUES_SHARE
        assert seldom > 1.002
