"""Signals: CPU time and run-queue delay of real groups are what was caused."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from sojourn.manage import config as configs
from sojourn.manage import testing
from sojourn.manage.groups import Managed
from sojourn.manage.signals import Signals
from sojourn.manage.testing import stand

pytestmark = pytest.mark.skipif(bool(testing.lack()), reason=testing.lack() or "-")


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
        assert web["throttled"].value == 0


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
