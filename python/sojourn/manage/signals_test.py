"""Signals: CPU time and run-queue delay of real groups are what was caused."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.host.tree import Tree
from sojourn.manage import config as configs
from sojourn.manage import testing
from sojourn.manage.groups import Managed
from sojourn.manage.signals import TICKS, Signals
from sojourn.manage.testing import stand


@pytest.mark.skipif(bool(testing.lack()), reason=testing.lack() or "-")
def test_a_burner_uses_cpu_and_a_sleeper_none_and_what_is_not_known_is_absent(
    tmp_path: Path,
) -> None:
    with stand(tmp_path, testing.BURN) as here:
        config = configs.read(here.config())
        cpus = tuple(sorted(os.sched_getaffinity(0)))
        groups = {n: Managed(n, s, cpus, testing.TREE) for n, s in config.groups.items()}
        for one in groups.values():
            one.find()
        signals = Signals(testing.TREE)
        first = signals.of_group(groups["batch"], time.monotonic())
        assert first == {}, "nothing is known from one reading"
        used_s = 0.0
        until_s = time.monotonic() + 10
        while used_s < 0.2 and time.monotonic() < until_s:  # until it ran, on a busy machine too
            time.sleep(0.1)
            used_s = schedstat_s(here.programs["batch"].pid)
        signals.of_group(groups["web"], time.monotonic())  # by now it has started, and sleeps
        time.sleep(0.1)
        result = signals.of_group(groups["batch"], time.monotonic())
        web = signals.of_group(groups["web"], time.monotonic())
        assert 0 < result["cpu"].value <= len(cpus)
        assert web["cpu"].value < result["cpu"].value
        assert web["runq_delay_ms"].value == 0, "it asked for no CPU"
        assert web["throttled"].value == web["periods"].value == 0, "it has no quota"


def test_the_machine_is_read_twice_a_second_and_its_signals_say_their_age() -> None:
    signals = Signals(testing.TREE)
    assert signals.of_host(10.0) == {}, "nothing is known from one reading"
    first = signals.of_host(11.0)["cpu"]
    assert first.age_ms == 0
    soon = signals.of_host(11.2)["cpu"]
    assert (soon.value, soon.age_ms) == (first.value, 200)
    assert signals.of_host(11.5)["cpu"].age_ms == 0


def schedstat_s(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def written(root: Path, files: Mapping[str, str]) -> Tree:
    """A machine that has these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Tree(root)


def service(signals: Signals, stat: str = "") -> Any:
    """A group of one process, 7, with this cpu.stat."""
    written(signals.tree.root, {"group/cpu.stat": stat})
    return SimpleNamespace(
        name="web",
        is_best_effort=False,
        cpu=SimpleNamespace(version=2, folder="/group"),
        pids=lambda: (7,),
    )


def machine(*busy_s: int) -> str:
    """/proc/stat of a machine: CPU time of each CPU by tasks of users; as much of it is idle."""
    rows = [("cpu", sum(busy_s)), *((f"cpu{i}", s) for i, s in enumerate(busy_s))]
    lines = [f"{name} {s * TICKS} 0 0 {s * TICKS} 0 0 0 0 5 0" for name, s in rows]
    return "\n".join([*lines, "intr 1 2 3", "ctxt 9"])


def test_the_machines_cpu_time_is_that_of_the_cpus_that_groups_share(tmp_path: Path) -> None:
    signals = Signals(written(tmp_path, {"proc/stat": machine(10, 10, 10, 10)}), (1, 2))
    signals.of_host(0.0)
    written(tmp_path, {"proc/stat": machine(14, 11, 12, 14)})
    assert signals.of_host(4.0)["cpu"].value == pytest.approx(0.75), "1 s and 2 s in 4 s"
    whole = Signals(written(tmp_path, {"proc/stat": machine(0, 0, 0, 0)}))
    whole.of_host(0.0)
    written(tmp_path, {"proc/stat": machine(4, 1, 2, 4)})
    assert whole.of_host(4.0)["cpu"].value == pytest.approx(11 / 4)
    offline = Signals(written(tmp_path, {"proc/stat": "cpu 1 0 0 1"}), (1,))
    offline.of_host(0.0)
    assert "cpu" not in offline.of_host(1.0), "no line is about its CPU"


def test_time_that_the_hypervisor_took_is_used_by_no_task(tmp_path: Path) -> None:
    signals = Signals(written(tmp_path, {"proc/stat": "cpu 0 0 0 0 0 0 0 0 0 0"}))
    signals.of_host(0.0)
    every = " ".join(str(TICKS * s) for s in (1, 2, 4, 100, 100, 8, 16, 500, 1, 1))
    written(tmp_path, {"proc/stat": f"cpu {every}"})
    assert signals.of_host(10.0)["cpu"].value == pytest.approx(3.1), "user to softirq, no idle"


def test_throttled_periods_and_all_periods_are_those_since_the_reading_before(
    tmp_path: Path,
) -> None:
    signals = Signals(written(tmp_path, {}))
    signals.of_group(service(signals, "usage_usec 0\nnr_periods 100\nnr_throttled 40"), 0.0)
    result = signals.of_group(
        service(signals, "usage_usec 0\nnr_periods 120\nnr_throttled 47"), 0.1
    )
    assert (result["throttled"].value, result["periods"].value) == (7, 20)


def test_a_group_that_is_made_anew_is_not_compared_with_the_one_before_it(tmp_path: Path) -> None:
    signals = Signals(written(tmp_path, {}))
    signals.of_group(service(signals, "usage_usec 1000000\nnr_throttled 4"), 0.0)
    signals.forget("web")
    signals.forget("other")
    result = signals.of_group(service(signals, "usage_usec 9000000\nnr_throttled 9"), 10.0)
    assert not {"cpu", "throttled"} & result.keys(), "it has counted more by now than the other had"
    again = signals.of_group(service(signals, "usage_usec 9500000\nnr_throttled 9"), 11.0)
    assert again["cpu"].value == pytest.approx(0.5)


def test_a_group_is_not_taken_for_the_machine_by_its_name(tmp_path: Path) -> None:
    signals = Signals(written(tmp_path, {"proc/stat": machine(10)}))
    one = service(signals, "usage_usec 1000000")
    one.name = "host"
    for t_s in (0.0, 1.0):
        result = {**signals.of_group(one, t_s)}, signals.of_host(t_s)
    assert [part["cpu"].value for part in result] == [0.0, 0.0]


def test_threads_that_ended_take_no_memory_and_their_numbers_may_come_again(
    tmp_path: Path,
) -> None:
    signals = Signals(Tree(tmp_path))
    folder = tmp_path / "proc/7/task"
    for number in range(100, 200):
        written(tmp_path, {f"proc/7/task/{number}/schedstat": "5000000 9000000 9"})
        signals.of_group(service(signals), float(number))
        (folder / f"{number}/schedstat").unlink()
    assert sum(map(len, signals._turns.values())) == 1
    assert len(signals._before) < 10
    written(tmp_path, {"proc/7/task/199/schedstat": "0 1000000 1"})
    assert "runq_delay_ms" not in signals.of_group(service(signals), 200.0), "it is another thread"
    written(tmp_path, {"proc/7/task/199/schedstat": "0 5000000 3"})
    assert signals.of_group(service(signals), 201.0)["runq_delay_ms"].value == pytest.approx(2.0)
