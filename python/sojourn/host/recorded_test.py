"""Samples of `sojourn-counters`, made up and real, read as if they were the machine."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sojourn import programs
from sojourn.host import usage
from sojourn.host.tree import Tree
from sojourn.host.usage import files
from sojourn.host.usage.moment import TICK_S

FIELDS = "S 1 100 100 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 5 4096 10 0"
SCRIPT = """
import sys, threading
threading.Thread(target=sys.stdin.read, daemon=True).start()
while True:
    sum(range(1000))
"""


def sample(start_ns: int, **texts: str) -> dict[str, Any]:
    """A sample whose files were read one µs after the other."""
    reports = [
        [path, start_ns + 1000 * nth, text] for nth, (path, text) in enumerate(texts.items())
    ]
    return {"start_ns": start_ns, "boot_ns": start_ns + 7, "unix_ns": 1, "files": reports}


def test_a_sample_is_read_like_the_machine_it_was_taken_of() -> None:
    then = usage.Recorded()
    then.show(sample(5_000, **{"/proc/7/stat": "7 (a b)) S 1\n", "/proc/7/task/9/io": "x: 1\n"}))
    assert files.of(then) is then
    assert then.clock() == pytest.approx(5e-6)
    assert then.fields("/proc/7/stat") == [b"S", b"1"]
    assert then.read("/proc/7/task/9/io") == b"x: 1\n"
    assert then.clock() == pytest.approx(6e-6), "as late as what was read last"
    assert then.names("/proc") == ["7"]
    assert then.names("/proc/7") == ["stat", "task"]
    assert (then.read("/proc/8/stat"), then.text("/proc/8/stat")) == (b"", None)
    assert then.names("/proc/8") == []
    then.show(sample(9_000, **{"/proc/8/stat": "8 (c) S 1\n"}))
    assert then.names("/proc") == ["8"]
    assert then.boot() == pytest.approx(9.007e-6)


def test_a_known_use_gives_that_rate(tmp_path: Path) -> None:
    """Half of a CPU, by the ticks of the process, between two samples a second apart."""
    then = usage.Recorded()
    members = usage.Members(then, 100, clock=lambda: 0.0)
    where = usage.places(Tree(tmp_path), 100, (1,))
    ticks = round(0.5 / TICK_S)
    cpus = "cpu  0 0 0 {idle} 0 0 0 0\ncpu1 {half} 0 0 {half} 0 0 0 0\n"
    moments: list[usage.Moment] = []
    for nth in (0, 1):
        then.show(
            sample(
                10**9 * (1 + nth),
                **{
                    "/proc/100/stat": f"100 (x) {FIELDS.format(ticks=nth * ticks)}",
                    "/proc/stat": cpus.format(idle=nth * 200, half=nth * 50),
                },
            )
        )
        before = moments[-1] if moments else None
        moments.append(usage.moment(then, members, where, before, clock=then.clock, boot=then.boot))
    rates = usage.between(moments[0], moments[1], (1,), all_cpus=2)
    assert rates.values["service_cpu_share"] == pytest.approx(0.5, rel=0.01)
    assert rates.values["server_busy_share"] == pytest.approx(0.5)


def test_a_record_is_read_as_far_as_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "counters.json"
    path.write_text('{"schema": "sojourn.counters/1"}\n{"files": []}\n{"files": [')
    assert [*usage.recorded(path)] == [{"schema": "sojourn.counters/1"}, {"files": []}]
    path.write_text('{"schema": "sojourn.other/1"}\n')
    with pytest.raises(ValueError, match=r"not sojourn\.counters/1"):
        list(usage.recorded(path))
    path.write_text("")
    assert not [*usage.recorded(path)]


@pytest.fixture
def service() -> Iterator[int]:
    """A process of a session of its own, with two threads, one of which is busy."""
    words = [sys.executable, "-I", "-S", "-c", SCRIPT]
    with subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True) as process:
        deadline = time.monotonic() + 60
        while len(list(Path(f"/proc/{process.pid}/task").iterdir())) < 2:
            assert time.monotonic() < deadline, "its second thread never came"
            time.sleep(0.01)
        yield process.pid
        process.kill()


def test_what_the_program_copied_lies_between_what_was_read_before_and_after(
    service: int, tmp_path: Path
) -> None:
    tree, record = Tree(), tmp_path / "counters.json"
    where = usage.places(tree, service, (0,))
    before = usage.moment(tree, usage.Members(tree, service), where)
    words = ["--pid", str(service), "--every", "20ms", "--json", str(record)]
    deadline = time.monotonic() + 60
    with subprocess.Popen([programs.find("sojourn-counters"), *words]) as sampler:
        time.sleep(0.2)
        while ran(usage.moment(tree, usage.Members(tree, service), where)) == ran(before):
            assert time.monotonic() < deadline, "the service never gets a CPU"
            time.sleep(0.05)
        sampler.terminate()
        assert sampler.wait(60) == 0
    after = usage.moment(tree, usage.Members(tree, service), where)

    head, *samples, cost = usage.recorded(record)
    assert (head["pid"], head["every_ns"]) == (service, 20_000_000)
    assert 0 < cost["cpu_ns"] <= cost["wall_ns"]
    then = usage.Recorded()
    members = usage.Members(then, service, clock=lambda: 0.0)
    last, seen = None, [before]
    for one in samples:
        then.show(one)
        last = usage.moment(then, members, where, last, clock=then.clock, boot=then.boot)
        seen.append(last)
    seen.append(after)
    assert len(seen) > 3, "several samples"
    assert all(one.processes.of.keys() == {service} for one in seen)
    assert all((one.threads.of or {}).keys() == (before.threads.of or {}).keys() for one in seen)
    for old, new in pairwise(seen):
        assert old.at_s <= new.at_s
        assert old.boot_s <= new.boot_s
        assert old.machine.at_s <= new.machine.at_s <= new.threads.at_s
        assert all(was <= now for was, now in zip(ran(old), ran(new), strict=True)), (
            "counters of threads only grow"
        )
    assert ran(before) < ran(after), "it ran"
    assert {t.start for t in (after.threads.of or {}).values()} == {
        t.start for t in (seen[1].threads.of or {}).values()
    }


def ran(moment: usage.Moment) -> list[float]:
    """What each thread ran so far, s."""
    return [thread.run_s for _, thread in sorted((moment.threads.of or {}).items())]
