"""The generator's end of a run, with scripts in its place: whatever it does, the lab goes on."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import programs
from sojourn.errors import RunFault, SpecFault
from sojourn.run import clients, generator, generator_job, generator_output
from sojourn.run.clients import Load
from sojourn.run.generator import Watcher
from sojourn.run.generator_job import Files, length_s_max

JOB = {"target": "null:", "rate": "1000", "duration": "1s", "warmup": "0s", "drain": "0s"}
Fake = Callable[[str], None]


class Loads(Watcher):
    """Keeps what was said last of each load."""

    def __init__(self) -> None:
        self.last: dict[int, Mapping[str, Any]] = {}

    def of_load(self, nth: int, line: Mapping[str, Any]) -> None:
        self.last[nth] = line


class Notes:
    def started(self, what: str, pid: int, start_ticks: int) -> int:
        del what, start_ticks
        return pid

    def undone(self, entry: int) -> None:
        del entry


class Seen(Watcher):
    """Keeps the lines of progress; fails when it is told to."""

    def __init__(self, fails_after: int | None = None) -> None:
        self.lines: list[Mapping[str, Any]] = []
        self._fails_after = fails_after

    def second(self, line: Mapping[str, Any]) -> None:
        self.lines.append(line)
        if self._fails_after is not None and len(self.lines) >= self._fails_after:
            raise RunFault("the server died", at="here", fix="nothing")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Put a script in the generator's place; it finds its result's path in `result`."""

    def put(script: str) -> None:
        path = tmp_path / "sojourn-load"
        head = f"#!{sys.executable} -IS\nimport sys, time, signal, json, os\n"
        tail = "result = sys.argv[sys.argv.index('--json') + 1]\njob = json.load(sys.stdin)\n"
        path.write_text(head + tail + script)
        path.chmod(0o755)
        monkeypatch.setattr(programs, "find", lambda name, fix=None: path)

    return put


def run(tmp_path: Path, watcher: Watcher | None = None, **job: object) -> Mapping[str, Any]:
    return generator.run({**JOB, **job}, Files.named(tmp_path, "load"), Notes(), watcher)


@pytest.mark.parametrize("status", [0, 1, 3])
def test_a_result_is_read_whatever_its_verdict(fake: Fake, tmp_path: Path, status: int) -> None:
    fake(f"json.dump({{'rate': job['rate']}}, open(result, 'w')); sys.exit({status})")
    assert run(tmp_path) == {"rate": "1000"}
    table = json.loads((tmp_path / "load.job.json").read_text())
    assert (table["schema"], table["pooled"]) == ("sojourn.load.job/1", True)


def test_it_may_run_on_its_own_cpus_where_the_lab_keeps_itself_to_others(
    fake: Fake, tmp_path: Path
) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs: one for the lab, one for the client")
    fake("json.dump({'may': sorted(os.sched_getaffinity(0))}, open(result, 'w'))")
    os.sched_setaffinity(0, cpus[:1])
    try:
        assert run(tmp_path, cpus=f"{cpus[-1]}") == {"may": [cpus[0], cpus[-1]]}
        assert run(tmp_path) == {"may": cpus[:1]}
    finally:
        os.sched_setaffinity(0, cpus)


def test_lines_of_progress_are_handed_on_and_others_kept(fake: Fake, tmp_path: Path) -> None:
    fake("""
for text in ('{"t_s": 1.0}', 'a warning', '{"t_s": 2', '.5}', '{broken}'):
    sys.stderr.write(text + ('' if text.endswith('2') else chr(10))); sys.stderr.flush()
    time.sleep(0.02)
json.dump({}, open(result, 'w'))
""")
    seen = Seen()
    run(tmp_path, seen)
    assert [line["t_s"] for line in seen.lines] == [1.0, 2.5]
    assert (tmp_path / "load.log").read_text() == "a warning\n{broken}\n"


def test_a_generator_that_was_broken_in_takes_neither_memory_nor_time(
    fake: Fake, tmp_path: Path
) -> None:
    """A line without an end, nested JSON, numbers that are none; a child that holds the pipe."""
    fake("""
odd = '{"t_s": "x", "p99_ns": 1e999, "done_rps": 7}'
for text in (odd, '{"a":' * 50000, '{"t_s": ' + '9' * 5000 + '}'):
    sys.stderr.write(text + chr(10))
sys.stderr.write('x' * (8 << 20) + chr(10)); sys.stderr.flush()
json.dump({}, open(result, 'w'))
if os.fork() == 0:
    os.setsid()
    while True:
        os.write(2, b'y' * 65536 + bytes([10]))
""")
    seen = Seen()
    began = time.monotonic()
    run(tmp_path, seen)
    assert seen.lines == [{"done_rps": 7}]
    assert (tmp_path / "load.log").stat().st_size <= generator_output.WORDS_BYTES
    assert time.monotonic() - began < generator_job.SLACK_S


class Often(Seen):
    """Wants to know twice as often as anybody."""

    @property
    def every_s(self) -> float:
        return 0.5


def test_lines_come_as_often_as_whoever_watches_must_know(fake: Fake, tmp_path: Path) -> None:
    fake("json.dump({'argv': sys.argv}, open(result, 'w'))")
    for watcher, every in ((None, "5s"), (Often(), "0.5s")):
        words = run(tmp_path, watcher)["argv"]
        assert words[words.index("--progress-every") + 1] == every


def test_the_lab_sleeps_while_load_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is woken by the generator's lines and its end, and no one polls: counted by returns."""
    returned: list[int] = []

    def waits(*inputs: Any) -> Any:
        got = select.select(*inputs)
        returned.append(threading.active_count())
        return got

    monkeypatch.setattr(generator, "select", SimpleNamespace(select=waits))
    quiet, often = Seen(), Often()
    threads = threading.active_count()
    run(tmp_path, quiet, duration="2s")
    assert [line["ended"] for line in quiet.lines] == [True], "one line, when the load has ended"
    assert len(returned) <= 4, "its line, the end of its stderr, and its warden's word"
    returned.clear()
    run(tmp_path, often, duration="2s")
    lines = len(often.lines)
    assert [line["ended"] for line in often.lines] == [False] * (lines - 1) + [True]
    assert len(returned) <= lines + 3
    assert set(returned) == {threads}, "no thread of the lab is beside the load"


SAYING = """
sys.stderr.write(json.dumps({'t_s': 1.0, 'done_rps': float(job['rate'])}) + chr(10))
json.dump({}, open(result, 'w'))
"""


def test_those_that_offer_one_load_are_summed_up_by_themselves(fake: Fake, tmp_path: Path) -> None:
    fake(SAYING)
    rates = ("1000", "10", "1")
    parts = [({**JOB, "rate": rate}, Files.named(tmp_path, f"load.{rate}")) for rate in rates]
    loads = Loads()
    generator.together(parts, Notes(), loads, owners=(0, 0, 1))
    assert {nth: line["done_rps"] for nth, line in loads.last.items()} == {0: 1010.0, 1: 1.0}


def test_services_at_once_are_distinguished(fake: Fake, tmp_path: Path) -> None:
    fake(SAYING)
    asked = [
        Load({**JOB, "rate": rate}, 1, Files.named(tmp_path, f"load.{rate}"))
        for rate in ("1000", "10")
    ]
    loads = Loads()
    clients.together(asked, Notes(), loads)
    assert {nth: line["done_rps"] for nth, line in loads.last.items()} == {0: 1000.0, 1: 10.0}


def test_a_refused_job_is_a_spec_fault_in_the_generators_words(fake: Fake, tmp_path: Path) -> None:
    fake("""
sys.stderr.write("error: rate is -1 requests/s\\n  at: job.rate\\n  fix: give a rate above 0\\n")
sys.exit(2)
""")
    with pytest.raises(SpecFault) as caught:
        run(tmp_path)
    assert caught.value.what == "sojourn-load: rate is -1 requests/s"
    assert caught.value.at.startswith("job.rate")
    assert caught.value.fix == "give a rate above 0"


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("os.kill(os.getpid(), signal.SIGABRT)", "was killed by SIGABRT"),
        ("sys.exit(101)", "ended with exit status 101"),
        ("pass", "wrote no result"),
        ("open(result, 'w').write('{half')", "wrote no result"),
    ],
)
def test_a_generator_that_fails_is_a_run_fault(
    fake: Fake, tmp_path: Path, script: str, text: str
) -> None:
    fake(script)
    with pytest.raises(RunFault, match=text):
        run(tmp_path)


INTERRUPTIBLE = """
def end(*_):
    json.dump({"requests": 5}, open(result, 'w')); sys.exit(130)
signal.signal(signal.SIGINT, end)
while True:
    sys.stderr.write('{"t_s": 1.0}' + chr(10)); sys.stderr.flush(); time.sleep(0.02)
"""


def test_what_was_measured_until_the_server_died_is_kept(fake: Fake, tmp_path: Path) -> None:
    fake(INTERRUPTIBLE)
    with pytest.raises(RunFault, match="the server died"):
        run(tmp_path, Seen(fails_after=3))
    assert json.loads((tmp_path / "load.json").read_text()) == {"requests": 5}


@pytest.mark.usefixtures("sigint_raises")
def test_an_interrupt_ends_the_generator_cleanly(fake: Fake, tmp_path: Path) -> None:
    fake(INTERRUPTIBLE)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    assert json.loads((tmp_path / "load.json").read_text()) == {"requests": 5}


def test_a_generator_that_hangs_is_ended_at_its_deadline(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generator_job, "SLACK_S", 0.2)
    monkeypatch.setattr(generator, "END_S_MAX", 0.1)
    fake("signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(1)")
    with pytest.raises(RunFault, match="did not end within"):
        run(tmp_path, duration="100ms")


def test_an_old_result_is_never_taken_for_a_new_one(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / "load.json").write_text('{"requests": 1}')
    fake("pass")
    with pytest.raises(RunFault, match="wrote no result"):
        run(tmp_path)


def test_the_deadline_grows_with_what_is_asked() -> None:
    short = length_s_max(JOB)
    assert length_s_max({**JOB, "duration": "120s"}) >= short + 119
    assert length_s_max({**JOB, "preload": True, "items": 2_000_000}) >= short + 100
    assert length_s_max({**JOB, "rate": "ramp:1k..50k"}) > 1
    usual = {key: value for key, value in JOB.items() if key != "drain"}
    for job in (usual, {**usual, "drain": "auto"}, {**usual, "timeout": "1s"}):
        assert length_s_max(job) == pytest.approx(short + 2)
    assert length_s_max({**usual, "timeout": "10s"}) == pytest.approx(short + 10)
    assert length_s_max({**usual, "timeout": "10s", "drain": "3s"}) == pytest.approx(short + 3)
