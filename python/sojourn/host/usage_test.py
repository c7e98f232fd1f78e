"""Use of resources from made-up trees of /proc: a known use gives that rate, anything else none."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn.host import usage
from sojourn.host.kernel_testing import LEADER, WORKER, Kernel, Watch
from sojourn.host.usage.moment import PAGE_BYTES, TICK_S

TICKS_PER_S = round(1 / TICK_S)


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


@pytest.fixture
def watch(kernel: Kernel) -> Watch:
    return Watch(kernel)


@pytest.mark.parametrize("seconds", [1.0, 2.5])
def test_a_known_use_gives_that_rate_over_the_time_that_passed(
    kernel: Kernel, watch: Watch, seconds: float
) -> None:
    """The second sample of the parameters came late: the same counters are a lower rate."""
    kernel.stat(used=30, idle=50, steal=20)
    kernel.process(LEADER, user=20, system=10, faults=4, pages=12, io=(1000, 5000))
    kernel.thread(LEADER, LEADER, run_s=0.3, wait_s=0.05, switches=(70, 3))
    kernel.network(rx=(10_000, 40), tx=(90_000, 80))
    rates = watch.after(seconds)
    assert rates.events == ()
    assert rates.length_s == pytest.approx(seconds)
    assert rates.values == {
        key: None if value is None else pytest.approx(value)
        for key, value in {
            "machine_busy_share": 0.15,  # of the ticks of both CPUs, whatever the clock says
            "machine_steal_share": 0.1,
            "server_busy_share": 0.3,
            "server_steal_share": 0.2,
            "service_cpu_share": 0.3 / seconds,
            "service_user_share": 0.2 / seconds,
            "service_system_share": 0.1 / seconds,
            "thread_cpu_share_max": 0.3 / seconds,
            "runq_delay_share": 0.05 / seconds,
            "switches_voluntary_per_s": 70 / seconds,
            "switches_involuntary_per_s": 3 / seconds,
            "major_faults_per_s": 4 / seconds,
            "disk_read_bytes_per_s": 1000 / seconds,
            "disk_write_bytes_per_s": 5000 / seconds,
            "network_rx_bytes_per_s": 10_000 / seconds,
            "network_rx_packets_per_s": 40 / seconds,
            "network_tx_bytes_per_s": 90_000 / seconds,
            "network_tx_packets_per_s": 80 / seconds,
            "resident_bytes": 12 * PAGE_BYTES,
            "llc_bytes": None,
            "memory_bytes_per_s": None,
        }.items()
    }
    assert rates.threads[LEADER, LEADER] == ("worker", 0.3 / seconds, 0.05 / seconds)


def test_every_resource_has_a_value_or_none() -> None:
    assert len({resource.name for resource in usage.RESOURCES}) == len(usage.RESOURCES)


def test_processes_are_accounted_as_one_service(kernel: Kernel) -> None:
    kernel.process(WORKER, parent=LEADER)
    kernel.thread(WORKER, WORKER)
    watch = Watch(kernel)
    kernel.process(LEADER, user=10)
    kernel.process(WORKER, parent=LEADER, user=30, system=20)
    kernel.thread(LEADER, LEADER, run_s=0.1)
    kernel.thread(WORKER, WORKER, run_s=0.5)
    values = watch.after(1.0).values
    assert values["service_cpu_share"] == pytest.approx(0.6)
    assert values["service_user_share"] == pytest.approx(0.4)
    assert values["thread_cpu_share_max"] == pytest.approx(0.5)


def test_a_child_that_ended_hands_on_only_what_it_used_since(kernel: Kernel) -> None:
    kernel.process(WORKER, parent=LEADER, user=5000)  # 50 s before it was looked at
    kernel.thread(WORKER, WORKER, run_s=50)
    watch = Watch(kernel)
    kernel.gone(WORKER)
    kernel.process(LEADER, reaped=(5020, 0))  # 0.2 s more, waited for by its parent
    rates = watch.after(1.0)
    assert rates.values["service_user_share"] == pytest.approx(0.2)
    assert rates.values["service_cpu_share"] == pytest.approx(0.2)


def test_a_child_whom_no_one_waits_for_is_named_and_gives_no_wrong_rate(kernel: Kernel) -> None:
    kernel.process(WORKER, parent=LEADER, user=5000)
    kernel.thread(WORKER, WORKER, run_s=50)
    watch = Watch(kernel)
    kernel.gone(WORKER)
    kernel.process(LEADER, user=10)
    rates = watch.after(1.0)
    assert rates.values["service_user_share"] == pytest.approx(0.1)
    assert "a process ended: what it used last is not counted" in rates.events
    assert "a thread ended: what it used last is not counted" in rates.events


def test_a_child_that_was_born_and_ended_in_between_counts(kernel: Kernel, watch: Watch) -> None:
    kernel.process(LEADER, user=1, reaped=(40, 0))
    kernel.thread(LEADER, LEADER, run_s=0.01)
    values = watch.after(1.0).values
    assert values["service_cpu_share"] == pytest.approx(0.41)  # not the 0.01 of known threads


@pytest.mark.parametrize(("start_s", "share"), [(1000.5, 0.3), (10.0, 0.0)])
def test_a_new_child_counts_from_its_start_and_one_found_late_from_then_on(
    kernel: Kernel, watch: Watch, start_s: float, share: float
) -> None:
    start = round(start_s * TICKS_PER_S)
    kernel.put(f"/proc/{LEADER}/task/{LEADER}/children", f"{WORKER} ")
    kernel.process(WORKER, parent=LEADER, user=30, start=start)
    kernel.thread(WORKER, WORKER, run_s=0.3, start=start)
    rates = watch.after(1.0)
    assert rates.values["service_user_share"] == pytest.approx(share)
    assert rates.values["service_cpu_share"] == pytest.approx(share)
    is_late = "a process or thread was found late: counted from then on" in rates.events
    assert is_late == (share == 0.0)


def test_a_number_that_another_process_was_given_is_not_the_same_process(kernel: Kernel) -> None:
    kernel.process(WORKER, parent=LEADER, user=50)
    kernel.thread(WORKER, WORKER)
    watch = Watch(kernel)
    kernel.process(WORKER, parent=7, user=9000, start=100_050)  # somebody else's child
    kernel.put(f"/proc/{WORKER}/stat", f"{WORKER} (x) S 7 7 7 " + "0 " * 15 + "100050 0 9\n")
    rates = watch.after(1.0)
    assert rates.values["service_user_share"] == 0.0
    assert rates.values["resident_bytes"] == 10 * PAGE_BYTES


@pytest.mark.parametrize("what", ["process", "thread", "network", "cpu"])
def test_a_counter_that_goes_back_is_named_and_has_no_rate(kernel: Kernel, what: str) -> None:
    kernel.stat(used=50, idle=50)
    kernel.process(LEADER, user=50)
    kernel.thread(LEADER, LEADER, run_s=0.5, switches=(10, 10))
    kernel.network(rx=(2**32 - 100, 10), tx=(0, 0))  # of 32 bits: it wraps
    watch = Watch(kernel)
    kernel.stat(used=100, idle=100)
    if what == "process":
        kernel.process(LEADER, user=40)
    elif what == "thread":
        kernel.thread(LEADER, LEADER, run_s=0.1, switches=(11, 11))
    elif what == "network":
        kernel.network(rx=(900, 20), tx=(0, 0))
    else:
        kernel.stat(used=10, idle=200)
    rates = watch.after(1.0)
    none = {
        "process": {"service_user_share"},
        "thread": {
            "runq_delay_share",
            "thread_cpu_share_max",
            "switches_voluntary_per_s",
            "switches_involuntary_per_s",
        },
        "network": {n for n in rates.values if n.startswith("network")},
        "cpu": {
            "machine_busy_share",
            "machine_steal_share",
            "server_busy_share",
            "server_steal_share",
        },
    }[what]
    assert none <= {name for name, value in rates.values.items() if value is None}
    assert any("went back" in event for event in rates.events)
    rest = {n for n, value in rates.values.items() if value is not None}
    assert {"resident_bytes", "major_faults_per_s"} <= rest


def test_idle_time_may_go_back_a_little(kernel: Kernel, watch: Watch) -> None:
    """It is documented to, and is no reason to doubt the rest."""
    kernel.stat(used=0, idle=100)
    watch.look()
    kernel.stat(used=100, idle=99)
    rates = watch.after(1.0)
    assert rates.values["server_busy_share"] == pytest.approx(1.0)
    assert rates.events == ()


def test_a_probe_that_did_not_get_its_cpu_says_so_and_gives_no_rate(
    kernel: Kernel, watch: Watch
) -> None:
    kernel.process(LEADER, user=50)
    kernel.thread(LEADER, LEADER, run_s=0.5)
    kernel.clock.step_s = 0.1  # every group takes a tenth of the second in which it is read
    rates = watch.after(1.0)
    assert rates.values["service_cpu_share"] is None
    assert rates.values["network_rx_bytes_per_s"] is None
    assert rates.values["server_busy_share"] is None or rates.values["server_busy_share"] >= 0
    assert "processes: the probe did not get its CPU while it read them" in rates.events


def test_more_cpu_time_than_there_is_is_not_believed(kernel: Kernel, watch: Watch) -> None:
    kernel.process(LEADER, user=500)
    kernel.thread(LEADER, LEADER, run_s=5.0)
    rates = watch.after(1.0)
    assert rates.values["service_cpu_share"] is None
    assert rates.values["thread_cpu_share_max"] is None
    assert "CPU time: more than the machine has" in rates.events


def test_a_service_that_is_gone_has_no_use(kernel: Kernel, watch: Watch) -> None:
    kernel.gone(LEADER)
    rates = watch.after(1.0)
    assert rates.values["service_cpu_share"] is None
    assert rates.values["resident_bytes"] is None
    assert rates.values["network_rx_bytes_per_s"] is None


def test_what_is_not_counted_here_says_why(kernel: Kernel) -> None:
    (kernel.root / f"proc/{LEADER}/io").unlink()
    (kernel.root / f"proc/{LEADER}/task/{LEADER}/schedstat").unlink()
    watch = Watch(kernel)
    missing = usage.places(watch.tree, LEADER, (1,)).missing
    assert missing["llc_bytes"] == "no resctrl here"
    assert missing["runq_delay_share"] == "this kernel has no schedstat"
    assert missing["disk_read_bytes_per_s"].startswith("its /proc/PID/io cannot be read: run as")
    kernel.process(LEADER, user=40)
    (kernel.root / f"proc/{LEADER}/io").unlink()
    values = watch.after(1.0).values
    assert values["service_cpu_share"] == pytest.approx(0.4)  # by ticks then
    assert values["runq_delay_share"] is None
    assert values["disk_read_bytes_per_s"] is None
