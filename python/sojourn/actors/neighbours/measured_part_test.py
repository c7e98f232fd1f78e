"""What a neighbour did counts while load was measured, not before or after."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import programs
from sojourn.actors import measured
from sojourn.actors.actor import Role
from sojourn.actors.kind import named
from sojourn.actors.neighbours import KINDS, Neighbour

S = 1_000_000_000
SLACK_NS = S // 100  # between two readings of the clocks


class Task:
    """A task that has printed what it did, and runs."""

    pid = 4711

    def poll(self) -> None:
        """It has not ended."""


def stage(folder: Path) -> Any:
    return SimpleNamespace(folder=folder, end=lambda _: SimpleNamespace(cpu_s=1.0))


def seen(folder: Path, begun_ns: int, *per_s: float) -> dict[str, Any]:
    """What is known of a neighbour that did so much in each second since it had begun."""
    lines = [{"unit": "blocks", "alone_per_s": 1000.0}]
    lines += [
        {"unit": "blocks", "at_ns": begun_ns + nth * S, "length_s": 1.0, "achieved_per_s": did}
        for nth, did in enumerate(per_s, 1)
    ]
    (folder / "neighbour-0.log").write_text("\n".join(map(json.dumps, lines)))
    actor = Neighbour("batch", "server", lambda: ())
    actor._stage, actor._begun_ns = stage(folder), begun_ns
    actor._tasks = [(0, Task())]  # type: ignore[list-item]
    actor.leave()
    return dict(actor.saw()["neighbour"])


def test_what_it_did_before_and_after_the_load_is_left_out(tmp_path: Path) -> None:
    """It waits for a tracer and a client before the load, and for both after it."""
    begun_ns = time.monotonic_ns() - 6 * S
    unix_ns = time.time_ns() - time.monotonic_ns()
    load = {"started_unix_ns": unix_ns + begun_ns + 2 * S - SLACK_NS, "measured_s": 2.1}
    (tmp_path / measured.LOAD).write_text(json.dumps(load))
    did = seen(tmp_path, begun_ns, 1000, 1000, 300, 320, 1000)["progress"]
    assert did["of_alone"] == pytest.approx(0.31)
    assert did["seconds"] == 2
    table = json.loads((tmp_path / "progress.json").read_text())
    assert (table["to_ns"] - table["from_ns"]) / 1e9 == pytest.approx(2.1)


@pytest.mark.parametrize("text", ["", "[]", '{"started_unix_ns": 1}', '{"measured_s": 1e999}'])
def test_without_a_load_all_that_it_did_counts(tmp_path: Path, text: str) -> None:
    if text:
        (tmp_path / measured.LOAD).write_text(text)
    did = seen(tmp_path, time.monotonic_ns() - 6 * S, 1000, 500)["progress"]
    assert did["of_alone"] == pytest.approx(0.75)


def test_cpus_that_memory_is_too_short_for_are_reported(tmp_path: Path) -> None:
    actor = Neighbour("stream", "server", lambda: ("it",), footprint_bytes=1 << 20)
    memory = SimpleNamespace(free_bytes=9 << 20)  # a quarter of it is for two
    started: list[Any] = []

    def start(*_: object, cpus: tuple[int, ...], **__: object) -> Task:
        started.append(cpus)
        return Task()

    stage_of_four: Any = SimpleNamespace(
        folder=tmp_path,
        facts=SimpleNamespace(memory=memory),
        point=SimpleNamespace(warmup_s=0.0),
        cpus=dict.fromkeys(Role, (1, 2, 3, 4)),
        start=start,
        end=lambda _: SimpleNamespace(cpu_s=1.0),
    )
    actor.enter(stage_of_four)
    actor.leave()
    assert started == [(1,), (2,)]
    assert actor.saw()["neighbour"]["no_memory_on"] == [3, 4]


@pytest.mark.parametrize(("text", "is_stopped"), [("noise:disk@50MB/s", False), ("noise", True)])
def test_who_reports_nothing_under_load_is_not_known_to_have_done_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, *, is_stopped: bool
) -> None:
    """An antagonist that hung in the kernel counted as one that held its intensity."""
    monkeypatch.setattr(programs, "find", lambda name, fix="": f"/usr/bin/{name}")
    result = named(KINDS, text, key="neighbour")
    assert result is not None
    actor: Any = result[1]
    (tmp_path / "neighbour-0.log").write_text(json.dumps({"unit": "MB", "alone_per_s": 100.0}))
    actor._stage, actor._tasks, actor._was_held = stage(tmp_path), [(0, Task())], is_stopped
    monkeypatch.setattr(actor, "go", lambda: None)
    actor.leave()
    assert ("not_held" in actor.saw()["neighbour"]) is not is_stopped


def test_the_log_of_the_task_that_died_is_named(tmp_path: Path) -> None:
    """It was the first task's, whichever had died."""
    actor: Any = Neighbour("spin", "server", lambda: ())
    dead = SimpleNamespace(pid=1, poll=lambda: SimpleNamespace(text="was killed by SIGKILL"))
    actor.number, actor._stage, actor._tasks = 2, stage(tmp_path), [(0, Task()), (3, dead)]
    actor.leave()
    seen = actor.saw()["neighbour_2"]
    assert seen["died"] == ["on CPU 3 was killed by SIGKILL"]
    assert seen["died_log"] == "neighbour_2-1.log"
