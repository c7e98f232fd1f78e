"""Cache ways and memory bandwidth on made-up resctrl trees (fakes): Intel, AMD, Arm.

The files are those of Documentation/filesystems/resctrl.rst; what a kernel does with them is
modelled by three functions. Nothing here was ever run on a machine with resctrl.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn.errors import HostFault
from sojourn.host.tree import Tree
from sojourn.knobs import KINDS, Asked, Knob, Turned, llc_ways, memory_bandwidth, resctrl
from sojourn.knobs.groups_test import FORKING, alive
from sojourn.knobs.resctrl import MOUNT
from sojourn.knobs.testing import MemoryBook, put
from sojourn.places import proc

MB, GB = 1 << 20, 1_000_000_000
CACHE = "/sys/devices/system/cpu/cpu{}/cache/index3"
CACHES = {  # of each CPU that a probe may run on, in the first domain
    f"{CACHE.format(cpu)}/{name}": text
    for cpu in os.sched_getaffinity(0)
    for name, text in (("size", "16896K"), ("id", "0"))
}
INTEL = {
    f"{MOUNT}/info/L3/cbm_mask": "7ff",
    f"{MOUNT}/info/L3/min_cbm_bits": "1",
    f"{MOUNT}/info/MB/min_bandwidth": "10",
    f"{MOUNT}/info/MB/bandwidth_gran": "10",
    f"{MOUNT}/schemata": "L3:0=7ff;1=7ff\n    MB:0=100;1=100",
    "/proc/cpuinfo": "vendor_id\t: GenuineIntel",
    **CACHES,
}
CDP = {  # mounted with -o cdp: a mask for code and one for data
    **{path: text for path, text in INTEL.items() if "/info/L3/" not in path},
    **{
        f"{MOUNT}/info/{kind}/{name}": text
        for kind in ("L3CODE", "L3DATA")
        for name, text in (("cbm_mask", "7ff"), ("min_cbm_bits", "1"))
    },
    f"{MOUNT}/schemata": "L3DATA:0=7ff;1=7ff\nL3CODE:0=7ff;1=7ff\nMB:0=100;1=100",
}
AMD = {
    **INTEL,
    f"{MOUNT}/info/L3/cbm_mask": "ffff",
    f"{MOUNT}/schemata": "L3:0=ffff;1=ffff\nMB:0=2048;1=2048",
    "/proc/cpuinfo": "vendor_id\t: AuthenticAMD",
}
ARM = {  # MPAM: no vendor in /proc/cpuinfo, finer steps, holes where it says so
    **INTEL,
    f"{MOUNT}/info/L3/cbm_mask": "ffff",
    f"{MOUNT}/info/L3/sparse_masks": "1",
    f"{MOUNT}/info/MB/min_bandwidth": "1",
    f"{MOUNT}/info/MB/bandwidth_gran": "1",
    f"{MOUNT}/schemata": "L3:0=ffff\nMB:0=100",
    "/proc/cpuinfo": "CPU implementer\t: 0x41",
}
VENDORS = {"intel": INTEL, "amd": AMD, "arm": ARM, "cdp": CDP}


class Kernel:
    """What a kernel makes of writes below `root`; a fake."""

    def __init__(self, root: Path, files: dict[str, str]) -> None:
        self.root = root
        for path, text in files.items():
            put(root, path, text)
        self.tree = Tree(root)

    def make(self, tree: Tree, folder: str) -> None:
        tree.path(folder).mkdir()
        put(self.root, f"{folder}/tasks", "")
        put(self.root, f"{folder}/schemata", tree.text(f"{MOUNT}/schemata") or "")
        put(self.root, f"{folder}/mon_data/mon_L3_00/llc_occupancy", "0")
        put(self.root, f"{folder}/mon_data/mon_L3_00/mbm_total_bytes", "0")

    def unmake(self, tree: Tree, folder: str) -> None:
        shutil.rmtree(tree.path(folder))

    def write(self, tree: Tree, path: str, text: str) -> None:
        if path.endswith("/tasks"):
            put(self.root, path, f"{tree.text(path)}\n{text}".strip())
            return
        name, _, parts = text.strip().partition(":")
        lines = resctrl.schemata(tree, os.path.dirname(path))  # noqa: PTH120
        lines[name] = dict(part.split("=") for part in parts.split(";"))
        texts = [
            f"{n}:" + ";".join(f"{d}={p}" for d, p in each.items()) for n, each in lines.items()
        ]
        put(self.root, path, "\n".join(texts))

    def files(self) -> dict[str, str]:
        return {str(p): p.read_text() for p in self.root.rglob("*") if p.is_file()}


Make = Callable[[str], tuple[Kernel, Turned]]


@pytest.fixture
def book() -> MemoryBook:
    return MemoryBook()


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    yield from alive(FORKING)


@pytest.fixture
def fake(
    tmp_path: Path,
    book: MemoryBook,
    server: subprocess.Popen[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Make:
    def make(vendor: str) -> tuple[Kernel, Turned]:
        kernel = Kernel(tmp_path, VENDORS[vendor])
        monkeypatch.setattr(resctrl, "make", kernel.make)
        monkeypatch.setattr(resctrl, "unmake", kernel.unmake)
        for module in (resctrl, llc_ways, memory_bandwidth):
            monkeypatch.setattr(module, "write", kernel.write)
        on = Turned(label="web", leader=server.pid, book=book, tree=kernel.tree)
        return kernel, on

    return make


def line(kernel: Kernel, name: str) -> dict[str, str]:
    ((folder),) = [n for n in kernel.tree.names(MOUNT) if n.startswith("sojourn-")]
    return resctrl.schemata(kernel.tree, f"{MOUNT}/{folder}")[name]


@pytest.mark.parametrize(
    ("vendor", "name", "level", "resource", "text"),
    [
        ("intel", "llc_ways", "4", "L3", "f"),
        ("intel", "llc_ways", "0xf0", "L3", "f0"),
        ("cdp", "llc_ways", "4", "L3CODE", "f"),
        ("cdp", "llc_ways", "4", "L3DATA", "f"),
        ("amd", "llc_ways", "0xf0f", "L3", "f0f"),
        ("arm", "llc_ways", "0xf0f", "L3", "f0f"),
        ("intel", "memory_bandwidth", "50%", "MB", "50"),
        ("arm", "memory_bandwidth", "33%", "MB", "33"),
        ("amd", "memory_bandwidth", "8GB/s", "MB", "64"),
    ],
)
def test_a_line_is_written_for_every_domain_and_all_is_as_before(  # noqa: PLR0917  # its cases
    fake: Make, book: MemoryBook, vendor: str, name: str, level: str, resource: str, text: str
) -> None:
    kernel, on = fake(vendor)
    before, kind = kernel.files(), KINDS[name]
    assert kind.lacks(Asked(level=level, tree=kernel.tree)) is None
    knob = kind.build(on)
    knob.apply(level)
    domains = resctrl.schemata(kernel.tree, MOUNT)[resource]
    assert line(kernel, resource) == dict.fromkeys(domains, text)
    assert knob.read() == text
    ((entry, facts),) = book.open.values()
    assert entry == "resctrl"
    assert {*(kernel.tree.text(f"{facts['folder']}/tasks") or "").split()} == {
        str(task.tid) for task in proc.tasks(on.leader)
    }
    knob.restore()
    assert kernel.files() == before
    assert not book.open


@pytest.mark.parametrize(
    ("vendor", "name", "level", "why"),
    [
        ("intel", "llc_ways", "12", "11 ways"),
        ("intel", "llc_ways", "0x505", "no mask with holes"),
        ("intel", "llc_ways", "0", "11 ways"),
        ("cdp", "llc_ways", "12", "11 ways"),
        ("intel", "memory_bandwidth", "55%", "steps of 10%"),
        ("intel", "memory_bandwidth", "5%", "10% to 100%"),
        ("intel", "memory_bandwidth", "8GB/s", "in percent"),
        ("amd", "memory_bandwidth", "50%", "bytes a second"),
    ],
)
def test_what_a_cpu_does_not_take_is_reported_before_and_refused(  # noqa: PLR0917  # its cases
    fake: Make, book: MemoryBook, vendor: str, name: str, level: str, why: str
) -> None:
    kernel, on = fake(vendor)
    lack = KINDS[name].lacks(Asked(level=level, tree=kernel.tree))
    assert lack is not None
    assert why in lack.missing
    with pytest.raises(HostFault, match=why):
        KINDS[name].build(on).apply(level)
    assert not book.open


@pytest.mark.parametrize("name", ["llc_ways", "memory_bandwidth"])
def test_none_needs_no_resctrl_and_leaves_the_group_where_there_is_one(
    fake: Make, book: MemoryBook, tmp_path: Path, name: str
) -> None:
    level = {"llc_ways": "4", "memory_bandwidth": "50%"}[name]
    assert KINDS[name].lacks(Asked(level="none", tree=Tree(tmp_path / "bare"))) is None
    assert KINDS[name].lacks(Asked(level=level, tree=Tree(tmp_path / "bare"))) is not None
    kernel, on = fake("intel")
    before, knob = kernel.files(), KINDS[name].build(on)
    knob.apply("none")
    assert kernel.files() == before
    knob.apply(level)
    assert book.open
    knob.apply("none")
    assert kernel.files() == before
    assert not book.open
    assert knob.verify().holds is None


def test_two_knobs_share_a_group(fake: Make, book: MemoryBook) -> None:
    kernel, on = fake("intel")
    before = kernel.files()
    ways, bandwidth = (KINDS[name].build(on) for name in ("llc_ways", "memory_bandwidth"))
    ways.apply("4")
    bandwidth.apply("50%")
    assert len(book.open) == 1
    ways.restore()
    assert line(kernel, "L3") == {"0": "7ff", "1": "7ff"}
    assert line(kernel, "MB") == {"0": "50", "1": "50"}
    bandwidth.restore()
    assert kernel.files() == before


def test_after_a_crash_the_group_is_removed(fake: Make, book: MemoryBook) -> None:
    kernel, on = fake("intel")
    before = kernel.files()
    KINDS["llc_ways"].build(on).apply("4")
    ((_, facts),) = book.open.values()
    report = resctrl.undo(facts)
    assert report is not None
    assert report.is_done
    assert kernel.files() == before
    assert resctrl.undo(facts) is None
    assert resctrl.undo({**facts, "folder": f"{MOUNT}/info"}) is None


def knob_with(
    fake: Make, occupied: int, level: str = "1", *, elsewhere: int = 0, vendor: str = "intel"
) -> Knob:
    """A knob with a group that holds so many bytes of the cache that a probe fills, and beside."""
    kernel, on = fake(vendor)
    knob = KINDS["llc_ways"].build(on)
    knob.apply(level)
    (name,) = [n for n in kernel.tree.names(MOUNT) if n.startswith("sojourn-")]
    for domain, size in enumerate((occupied, elsewhere)):
        at = f"{MOUNT}/{name}/mon_data/mon_L3_0{domain}"
        put(kernel.root, f"{at}/llc_occupancy", str(size))
    return knob


@pytest.mark.parametrize("vendor", ["intel", "cdp"])
@pytest.mark.parametrize(
    ("occupied", "verdict"), [(MB, "holds"), (16 * MB, "violated"), (0, "unknown")]
)
def test_ways_are_measured_by_what_is_occupied(
    fake: Make, occupied: int, verdict: str, vendor: str
) -> None:
    knob = knob_with(fake, occupied, vendor=vendor)  # one of 11 ways of 16.5 MiB: 1.5 MiB
    assert knob.verify().verdict == verdict, knob.verify().why


@pytest.mark.parametrize(
    ("occupied", "elsewhere", "verdict"), [(16, 0, "violated"), (12, 16, "holds")]
)
def test_only_the_cache_that_a_probe_fills_is_counted(
    fake: Make, occupied: int, elsewhere: int, verdict: str
) -> None:
    """8 of 11 ways are 12 MiB of each of two caches of 16.5 MiB."""
    knob = knob_with(fake, occupied * MB, "8", elsewhere=elsewhere * MB)
    assert knob.verify().verdict == verdict, knob.verify().why


def test_the_domain_of_a_cpu_is_the_one_that_its_cache_names(fake: Make) -> None:
    kernel, _ = fake("intel")
    cpu, domain = llc_ways.probed(kernel.tree)
    assert cpu in os.sched_getaffinity(0)
    assert domain == 0
    put(kernel.root, f"{CACHE.format(cpu)}/id", "1")
    assert llc_ways.probed(kernel.tree) == (cpu, 1)
    kernel.tree.path(f"{CACHE.format(cpu)}/id").unlink()
    assert llc_ways.probed(kernel.tree) == (cpu, None), "two domains, and none is named"


def test_a_line_that_was_changed_since_and_a_thread_that_left_are_seen(fake: Make) -> None:
    kernel, on = fake("intel")
    knob = KINDS["llc_ways"].build(on)
    knob.apply("4")
    (name,) = [n for n in kernel.tree.names(MOUNT) if n.startswith("sojourn-")]
    kernel.write(kernel.tree, f"{MOUNT}/{name}/schemata", "L3:0=7ff;1=f\n")
    assert "not f" in knob.verify().why
    assert knob.verify().verdict == "violated"
    put(kernel.root, f"{MOUNT}/{name}/tasks", "")
    assert "not in its group" in knob.verify().why


@pytest.mark.parametrize(
    ("level", "outside", "inside", "counted", "verdict"),
    [
        ("50%", 10, 6, None, "holds"),
        ("50%", 10, 9, None, "violated"),
        ("100%", 10, 10, None, "unknown"),
        ("8GB/s", 20, 8, 8, "holds"),
        ("8GB/s", 20, 20, 20, "violated"),
        ("8GB/s", 4, 4, 4, "unknown"),
        ("8GB/s", 20, 8, None, "unknown"),
    ],
)
def test_bandwidth_is_judged_both_ways(
    level: str, outside: float, inside: float, counted: float | None, verdict: str
) -> None:
    report = None if counted is None else counted * GB
    effect = memory_bandwidth.judge(level, outside * GB, inside * GB, report)
    assert effect.verdict == verdict


def test_a_probe_outside_and_inside_is_compared(
    fake: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, on = fake("intel")
    knob = KINDS["memory_bandwidth"].build(on)
    knob.apply("10%")
    monkeypatch.setattr(
        memory_bandwidth, "streamed", lambda tree, folder: (9e9 if folder else 10e9, None)
    )
    assert knob.verify().verdict == "violated"
    assert "the cap had no effect" in knob.verify().why


def test_what_a_machine_lacks_is_reported_with_its_fix(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    for name, level in (("llc_ways", "4"), ("memory_bandwidth", "50%")):
        lack = KINDS[name].lacks(Asked(level=level, tree=tree))
        assert lack is not None
        assert "bare metal" in lack.fix
    put(tmp_path, "/proc/filesystems", "nodev\tresctrl")
    lack = KINDS["llc_ways"].lacks(Asked(level="4", tree=tree))
    assert lack is not None
    assert "mount -t resctrl" in lack.fix
    put(tmp_path, f"{MOUNT}/schemata", "MB:0=100")
    lack = KINDS["llc_ways"].lacks(Asked(level="4", tree=tree))
    assert lack is not None
    assert "control of L3" in lack.missing
