from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.host import culprits
from sojourn.host.tree import Tree

OUTPUT = {
    "duration_ns": 2_000_000_000,
    "tasks": [
        {
            "name": "kdamond.0",
            "tid": 77,
            "pid": 77,
            "is_kernel": True,
            "runs": 9,
            "run_ns": 30_000_000,
            "share": 0.015,
            "long_runs": 5,
            "long_runs_per_s": 2.5,
            "long_ns": 29_000_000,
            "longest_ns": 8_100_000,
        }
    ],
}


def stub(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> Path:
    path = folder / "sojourn-trace"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(programs, "maybe", lambda _: path)
    return path


def thread(root: Path, tid: int, *, cpu: int, run_ns: int, runs: int, flags: int = 0) -> None:
    folder = root / f"proc/{tid}/task/{tid}"
    folder.mkdir(parents=True, exist_ok=True)
    fields = ["S", "1", "1", "1", "0", "-1", str(flags), *["0"] * 29, str(cpu), "0", "0"]
    (folder / "stat").write_text(f"{tid} (a (b) c) {' '.join(fields)}\n")
    (folder / "schedstat").write_text(f"{run_ns} 0 {runs}\n")


def test_what_the_scheduler_told_is_handed_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = tmp_path / "words"
    stub(monkeypatch, tmp_path, f"echo \"$@\" > {words}\ncat <<'END'\n{json.dumps(OUTPUT)}\nEND")
    seen = culprits.look((1, 0), 2.0, (4242,))
    assert seen.source == culprits.SCHEDULER
    assert not seen.why
    (task,) = seen.culprits
    assert task.is_exact
    assert task.is_kernel
    assert (task.long_runs_per_s, task.longest_ns) == (2.5, 8_100_000)
    assert "kdamond.0 (77): 2.5 runs over 0.3 ms per second, longest 8.1 ms" in seen.text
    text = words.read_text()
    assert "--who 0-1 --duration 2000ms" in text
    for pid in (4242, os.getpid()):
        assert f"--leave-out {pid}" in text


def test_a_refusal_falls_back_and_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stub(monkeypatch, tmp_path, "echo 'error: no right to load BPF programs' >&2; exit 2")
    seen = culprits.look((0,), 0.01)
    assert seen.source == culprits.PROC
    assert seen.why == "no right to load BPF programs"
    assert not any(culprit.is_exact for culprit in seen.culprits)


def test_the_fallback_counts_what_is_on_these_cpus(tmp_path: Path) -> None:
    """3 ms in 4 runs: at most 4 long ones; 1 ms in 100 runs: at most 3 long ones."""
    for tid, cpu in ((7, 1), (8, 1), (9, 0), (10, 1)):
        thread(tmp_path, tid, cpu=cpu, run_ns=5_000_000, runs=50, flags=0x0020_0000 * (tid == 7))
    before = culprits.tasks(Tree(tmp_path))
    thread(tmp_path, 7, cpu=1, run_ns=8_000_000, runs=54, flags=0x0020_0000)
    thread(tmp_path, 8, cpu=1, run_ns=6_000_000, runs=150)
    thread(tmp_path, 9, cpu=0, run_ns=9_000_000, runs=60)
    thread(tmp_path, 10, cpu=1, run_ns=9_000_000, runs=60)
    result = culprits.between(before, culprits.tasks(Tree(tmp_path)), (1,), 2.0, (10,))
    assert [(c.tid, c.is_kernel, c.runs, c.long_runs_per_s) for c in result] == [
        (7, True, 4, 2.0),
        (8, False, 100, 1.5),
    ]
    assert result[0].name == "a (b) c"
    assert result[0].share == pytest.approx(3_000_000 / 2e9)
    assert "at most 2 runs" in result[0].text


@pytest.fixture
def spinner() -> Iterator[int]:
    """A process that computes without pause on the first CPU that it may use."""
    cpu = min(os.sched_getaffinity(0))
    code = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", code])
    yield child.pid
    child.kill()
    child.wait()


def test_a_task_that_computes_is_named_without_rights(
    monkeypatch: pytest.MonkeyPatch, spinner: int
) -> None:
    monkeypatch.setattr(programs, "maybe", lambda _: None)
    cpu = min(os.sched_getaffinity(0))
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:  # it must first have begun
        seen = culprits.look((cpu,), 0.3)
        if spinner in {culprit.pid for culprit in seen.culprits}:
            break
    assert spinner in {culprit.pid for culprit in seen.culprits}
    assert spinner not in {c.pid for c in culprits.look((cpu,), 0.1, (spinner,)).culprits}
    assert os.getpid() not in {culprit.pid for culprit in seen.culprits}


def test_an_answer_without_a_suspect_is_a_sentence_too() -> None:
    seen = culprits.Sight(source=culprits.PROC, why="", cpus=(0, 1), seconds=3.0, culprits=())
    assert seen.text == "no task ran over 0.3 ms at a time on CPU 0-1 in 3 s"
    assert seen.long_runs_per_s == 0
