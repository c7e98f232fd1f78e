"""Use of resources from made-up trees of /proc: a known use gives that rate, anything else none."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from sojourn.host import usage
from sojourn.host.tree import Tree
from sojourn.host.usage.moment import PAGE_BYTES, TICK_S

LEADER, WORKER = 100, 101
TICKS_PER_S = round(1 / TICK_S)


@dataclass
class Clock:
    """A clock that stands still until it is told otherwise; each look takes `step_s`."""

    now_s: float = 1000.0
    step_s: float = 0.0

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


@dataclass
class Kernel:
    """A machine of two CPUs with one service, on CPU 1, as /proc reports it."""

    root: Path
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.put("/proc/meminfo", "MemTotal: 1000 kB\n")
        self.stat()
        self.process(LEADER)
        self.thread(LEADER, LEADER)
        self.network(rx=(0, 0), tx=(0, 0))

    def put(self, path: str, text: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def gone(self, pid: int) -> None:
        for file in sorted((self.root / f"proc/{pid}").rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        (self.root / f"proc/{pid}").rmdir()

    def stat(self, *, used: int = 0, idle: int = 0, steal: int = 0) -> None:
        """Ticks of CPU 1; CPU 0 idles as long as CPU 1 does anything."""
        own = f"{used} 0 0 {idle} 0 0 0 {steal} 0 0"
        whole = f"{used} 0 0 {idle + used + idle + steal} 0 0 0 {steal} 0 0"
        self.put(
            "/proc/stat",
            f"cpu  {whole}\ncpu0 0 0 0 {used + idle + steal} 0 0 0 0 0 0\n"
            f"cpu1 {own}\nintr 1\nctxt 5\n",
        )

    def process(  # fields of a file
        self,
        pid: int,
        *,
        parent: int = 1,
        user: int = 0,
        system: int = 0,
        reaped: tuple[int, int] = (0, 0),
        faults: int = 0,
        start: int = 5,
        pages: int = 10,
        io: tuple[int, int] = (0, 0),
    ) -> None:
        fields = (
            f"S {parent} {LEADER} {LEADER} 0 -1 0 0 0 {faults} 0 {user} {system} {reaped[0]} "
            f"{reaped[1]} 20 0 1 0 {start} 4096 {pages} 0"
        )
        self.put(f"/proc/{pid}/stat", f"{pid} (a (b) c) {fields}\n")
        self.put(
            f"/proc/{pid}/io",
            f"rchar: 9\nread_bytes: {io[0]}\nwrite_bytes: {io[1]}\ncancelled_write_bytes: 0\n",
        )

    def thread(  # fields of a file
        self,
        pid: int,
        tid: int,
        *,
        run_s: float = 0.0,
        wait_s: float = 0.0,
        switches: tuple[int, int] = (0, 0),
        start: int = 5,
    ) -> None:
        base = f"/proc/{pid}/task/{tid}"
        self.put(f"{base}/schedstat", f"{round(run_s * 1e9)} {round(wait_s * 1e9)} 7\n")
        self.put(
            f"{base}/status",
            f"Name:\tworker\nvoluntary_ctxt_switches:\t{switches[0]}\n"
            f"nonvoluntary_ctxt_switches:\t{switches[1]}\n",
        )
        self.put(f"{base}/stat", f"{tid} (worker) " + "0 " * 19 + f"{start} 0 0\n")
        self.put(f"{base}/children", "")

    def network(self, *, rx: tuple[int, int], tx: tuple[int, int]) -> None:
        line = f"    lo: {rx[0]} {rx[1]} 0 0 0 0 0 0 {tx[0]} {tx[1]} 0 0 0 0 0 0"
        head = "Inter-|   Receive |  Transmit\n face |bytes packets\n"
        self.put(
            f"/proc/{LEADER}/net/dev", f"{head}{line}\n  eth0: 5 5 0 0 0 0 0 0 5 5 0 0 0 0 0\n"
        )


@dataclass
class Watch:
    """Looks at a made-up machine from moment to moment."""

    kernel: Kernel

    def __post_init__(self) -> None:
        self.tree = Tree(self.kernel.root)
        dear = count()  # /proc is looked through once: what is new is a child of somebody known
        self.members = usage.Members(self.tree, LEADER, clock=lambda: float(next(dear)))
        self.last: usage.Moment | None = None
        self.look()

    def look(self) -> usage.Moment:
        clock = self.kernel.clock
        where = usage.places(self.tree, LEADER, (1,))
        self.last = usage.moment(
            self.tree, self.members, where, self.last, clock=clock, boot=lambda: clock.now_s
        )
        return self.last

    def after(self, seconds: float) -> usage.Rates:
        """What was used in so many seconds, in which the kernel's files were changed."""
        before = self.last
        assert before is not None
        self.kernel.clock.now_s += seconds
        return usage.between(before, self.look(), (1,), all_cpus=2)


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
    assert missing["disk_read_bytes_per_s"] == "its /proc/PID/io cannot be read: run as root"
    kernel.process(LEADER, user=40)
    (kernel.root / f"proc/{LEADER}/io").unlink()
    values = watch.after(1.0).values
    assert values["service_cpu_share"] == pytest.approx(0.4)  # by ticks then
    assert values["runq_delay_share"] is None
    assert values["disk_read_bytes_per_s"] is None


def test_cache_and_memory_bandwidth_are_those_of_its_resource_group(kernel: Kernel) -> None:
    group = "/sys/fs/resctrl/sojourn-1"
    kernel.put("/sys/fs/resctrl/schemata", "L3:0=ff\n")
    kernel.put("/sys/fs/resctrl/tasks", "1\n")
    watch = Watch(kernel)
    why = usage.places(watch.tree, LEADER, (1,)).missing["llc_bytes"]
    assert why.startswith("it has no resctrl group of its own")
    kernel.put(f"{group}/tasks", f"{LEADER}\n")
    for domain, moved in ((0, 1000), (1, 500)):
        kernel.put(f"{group}/mon_data/mon_L3_0{domain}/llc_occupancy", "4096\n")
        kernel.put(f"{group}/mon_data/mon_L3_0{domain}/mbm_total_bytes", f"{moved}\n")
    watch.look()
    kernel.put(f"{group}/mon_data/mon_L3_00/mbm_total_bytes", "5000\n")
    values = watch.after(2.0).values
    assert values["llc_bytes"] == 8192
    assert values["memory_bytes_per_s"] == pytest.approx(2000)
    kernel.put(f"{group}/mon_data/mon_L3_00/mbm_total_bytes", "40\n")
    rates = watch.after(1.0)
    assert rates.values["memory_bytes_per_s"] is None
    assert "memory bandwidth: a counter went back" in rates.events
    kernel.put(f"{group}/mon_data/mon_L3_00/mbm_total_bytes", "Unavailable\n")
    assert watch.after(1.0).values["memory_bytes_per_s"] is None


def test_a_namespace_of_its_own_is_counted_without_its_loopback(kernel: Kernel) -> None:
    for who, name in (("self", "net:[1]"), (str(LEADER), "net:[2]")):
        link = kernel.root / f"proc/{who}/ns/net"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(name)
    assert usage.places(Tree(kernel.root), LEADER, (1,)).interfaces == ("eth0",)


def test_limits_are_the_tightest_of_all_groups_above(kernel: Kernel) -> None:
    tree = Tree(kernel.root)
    where = usage.places(tree, LEADER, (0, 1))
    assert usage.limits(tree, where)["service_cpu_share"] == 1.0
    assert usage.limits(tree, where)["resident_bytes"] == 1000 * 1024
    kernel.put(f"/proc/{LEADER}/cgroup", "0::/a/b\n")
    kernel.put("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
    kernel.put("/sys/fs/cgroup/a/cpu.max", "50000 100000\n")
    kernel.put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
    kernel.put("/sys/fs/cgroup/a/b/memory.max", "4096\n")
    limits = usage.limits(tree, where)
    assert limits["service_cpu_share"] == 0.25  # half a CPU of two
    assert limits["thread_cpu_share_max"] == 0.5
    assert limits["resident_bytes"] == 4096


def test_disks_can_give_as_much_as_the_tightest_limit(kernel: Kernel) -> None:
    tree = Tree(kernel.root)
    where = usage.places(tree, LEADER, (1,))
    assert not {name for name in usage.limits(tree, where) if name.startswith("disk")}
    kernel.put(f"/proc/{LEADER}/cgroup", "0::/a/b\n")
    kernel.put("/sys/fs/cgroup/cgroup.controllers", "io\n")
    kernel.put("/sys/fs/cgroup/a/io.max", "8:0 rbps=9000 wbps=100 riops=5 wiops=max\n")
    kernel.put("/sys/fs/cgroup/a/b/io.max", "8:0 rbps=max wbps=70 riops=max wiops=max\n")
    limits = usage.limits(tree, where)
    assert limits["disk_read_bytes_per_s"] == 9000
    assert limits["disk_write_bytes_per_s"] == 70


def test_in_version_1_a_disk_has_a_limit_of_reading_alone(kernel: Kernel) -> None:
    kernel.put(f"/proc/{LEADER}/cgroup", "5:blkio:/a\n")
    kernel.put("/sys/fs/cgroup/blkio/a/blkio.throttle.read_bps_device", "8:0 9000\n")
    kernel.put("/sys/fs/cgroup/blkio/a/blkio.throttle.write_bps_device", "8:0 80\n")
    tree = Tree(kernel.root)
    limits = usage.limits(tree, usage.places(tree, LEADER, (1,)))
    assert limits["disk_read_bytes_per_s"] == 9000
    assert "disk_write_bytes_per_s" not in limits


@pytest.mark.parametrize(("lines", "share"), [("L3:0=3;1=1", 0.5), ("MB:0=10", 1.0)])
def test_under_a_mask_it_can_hold_its_ways_of_the_cache(
    kernel: Kernel, lines: str, share: float
) -> None:
    group = "/sys/fs/resctrl/own"
    kernel.put("/sys/fs/resctrl/schemata", "L3:0=f;1=f\n")
    kernel.put("/sys/fs/resctrl/info/L3/cbm_mask", "f\n")
    kernel.put(f"{group}/tasks", f"{LEADER}\n")
    kernel.put(f"{group}/schemata", f"    {lines}\n")
    kernel.put(f"{group}/mon_data/mon_L3_00/llc_occupancy", "5\n")
    tree = Tree(kernel.root)
    limits = usage.limits(tree, usage.places(tree, LEADER, (1,)), llc_bytes=4096)
    assert limits["llc_bytes"] == share * 4096
