"""Files that are there and cannot be written: seen by their mounts, and the advice that helps."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import host
from sojourn.host import testing, writable
from sojourn.host.testing_hosts import MACHINES
from sojourn.host.tree import Tree
from sojourn.knobs import KINDS, Asked, busy_poll, groups, thp
from sojourn.knobs.testing import put

CPU = "/sys/devices/system/cpu"
#: Each knob that writes the kernel's files: level, and files that it needs, as they are now.
WRITERS = {
    "thp": ("never", {thp.PATH: "always [madvise] never"}),
    "busy_poll": ("50us", {busy_poll.READ: "0", busy_poll.POLL: "0"}),
    "irq": ("0", {"/proc/irq/9/smp_affinity_list": "0-3", "/proc/irq/11/smp_affinity_list": "1"}),
    "rps": ("0", {"/sys/class/net/lo/queues/rx-0/rps_cpus": "0"}),
    "napi": ("threaded", {"/sys/class/net/eth0/threaded": "0", "/sys/class/net/eth0/device/x": ""}),
    "cstates": (
        "20us",
        {f"{CPU}/cpu0/cpuidle/state2/disable": "0", f"{CPU}/cpu0/cpuidle/state2/latency": "133"},
    ),
    "frequency": ("governor:performance", {f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave"}),
    "smt": ("off", {f"{CPU}/smt/control": "on"}),
    "cpu_weight": ("200", {}),
    "cpu_quota": ("50%", {}),
    "cpu_idle": ("on", {}),
    "memory_limit": ("64MiB", {}),
    "llc_ways": (
        "4",
        {
            "/sys/fs/resctrl/schemata": "L3:0=7ff",
            "/sys/fs/resctrl/info/L3/x": "",
            "/sys/fs/resctrl/info/L3/cbm_mask": "7ff",
        },
    ),
    "memory_bandwidth": (
        "50%",
        {"/sys/fs/resctrl/schemata": "MB:0=100", "/sys/fs/resctrl/info/MB/x": ""},
    ),
}
CLOSED = ("/sys", "/proc/sys", "/proc/irq", "/sys/fs/cgroup", "/sys/fs/resctrl")


def tree(root: Path, name: str, *, is_closed: bool) -> Tree:
    """A machine that has what a knob needs, on mounts that can be written or not."""
    how = "ro" if is_closed else "rw"
    mounts = [f"1 0 0:{n} / {path} {how},nosuid - x x rw" for n, path in enumerate(CLOSED)]
    cgroup = f"9 0 0:9 / /sys/fs/cgroup {how} - cgroup2 cgroup2 rw"
    files = {
        **WRITERS[name][1],
        "/proc/self/mountinfo": "\n".join([*mounts, cgroup]),
        "/proc/self/cgroup": "0::/",
        "/sys/fs/cgroup/cgroup.controllers": "cpu memory io cpuset",
    }
    for path, text in files.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return Tree(root)


@pytest.mark.parametrize("name", WRITERS)
def test_a_knob_says_before_the_run_which_mount_is_read_only(name: str, tmp_path: Path) -> None:
    level = WRITERS[name][0]
    fine = KINDS[name].lacks(Asked(level=level, tree=tree(tmp_path / "a", name, is_closed=False)))
    assert fine is None or "read-only" not in fine.missing
    lack = KINDS[name].lacks(Asked(level=level, tree=tree(tmp_path / "b", name, is_closed=True)))
    assert lack is not None
    assert "is mounted read-only" in lack.missing
    assert any(f"remount,rw {path}" in lack.fix for path in CLOSED)
    assert "as root" not in lack.fix


@pytest.mark.parametrize(
    ("name", "level"), [("thp", "madvise"), ("busy_poll", "0us"), ("smt", "on"), ("rps", "none")]
)
def test_a_level_that_is_in_force_already_can_be_had(name: str, level: str, tmp_path: Path) -> None:
    result = tree(tmp_path, name, is_closed=True)
    assert KINDS[name].lacks(Asked(level=level, tree=result)) is None


def test_one_interrupt_that_can_be_moved_is_enough(tmp_path: Path) -> None:
    result = tree(tmp_path, "irq", is_closed=False)
    text = (tmp_path / "proc/self/mountinfo").read_text()
    one = "8 0 0:8 / /proc/irq/9 ro - x x rw\n"
    (tmp_path / "proc/self/mountinfo").write_text(text + one)
    assert writable.read_only(result, "/proc/irq/9/smp_affinity_list") == "/proc/irq/9"
    assert KINDS["irq"].lacks(Asked(level="0", tree=result)) is None


def test_the_innermost_and_latest_mount_decides(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    mounts = tmp_path / "proc/self/mountinfo"
    mounts.write_text(
        "1 0 0:1 / / rw - x x rw\n2 1 0:2 / /sys ro - x x rw\n"
        "3 2 0:3 / /sys/fs/cgroup rw - x x rw\n"
        "4 1 0:4 / /with\\040space ro - x x rw\n5 1 0:5 / /twice ro - x x rw\n"
        "6 1 0:6 / /twice rw - x x rw\n7 1 0:7 / /super rw - x x ro,seclabel\nbroken line\n"
    )
    seen = Tree(tmp_path)
    assert writable.read_only(seen, "/sys/class/net") == "/sys"
    assert writable.read_only(seen, "/sys/fs/cgroup/a") == ""
    assert writable.read_only(seen, "/system") == ""
    assert writable.read_only(seen, "/with space/x") == "/with space"
    assert writable.read_only(seen, "/twice/x") == ""
    assert writable.read_only(seen, "/super") == "/super"


def test_groups_of_version_1_are_closed_where_each_of_their_mounts_is(tmp_path: Path) -> None:
    put(tmp_path, "/sys/fs/cgroup/cpu/cpu.shares", "1024")
    lines = [
        "1 0 0:1 / /sys/fs/cgroup rw - tmpfs tmpfs rw",
        "2 1 0:2 / /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu",
        "3 1 0:3 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory",
    ]
    put(tmp_path, "/proc/self/mountinfo", "\n".join(lines))
    assert writable.closed(Tree(tmp_path)) == ("/sys/fs/cgroup",)
    put(tmp_path, "/proc/self/mountinfo", "\n".join(lines).replace("cpu ro", "cpu rw"))
    assert writable.closed(Tree(tmp_path)) == ()


NEED_GROUPS = ("CPU and memory shares (cgroup)", "containers")


@pytest.mark.parametrize("ability", NEED_GROUPS)
def test_an_ability_names_the_mount_also_to_root(ability: str, tmp_path: Path) -> None:
    facts = host.read(testing.write(MACHINES["container"], tmp_path))
    assert facts.rights.is_root
    result = {one.name: one for one in host.doctor(facts).abilities}[ability]
    assert "write access to /sys/fs/cgroup (" in result.missing
    assert "is mounted read-only)" in result.missing
    assert result.fix.startswith(writable.ON_HOST)


def test_doctor_says_of_groups_what_a_study_is_refused_with(tmp_path: Path) -> None:
    """A container may write its control groups, and have processes in the root of them."""
    root = testing.write(MACHINES["container"], tmp_path)
    mounts = (root / "proc/self/mountinfo").read_text().replace(" ro", " rw")
    put(root, "/proc/self/mountinfo", mounts)
    put(root, "/sys/fs/cgroup/cgroup.type", "domain")
    put(root, "/sys/fs/cgroup/cgroup.procs", "1\n7")
    report = host.doctor(host.read(root, sample_s=0))
    lack = groups.lacking(Asked(level="own", tree=Tree(root)), "cpu")
    assert lack is not None
    assert "holds processes itself" in lack.missing
    for ability in (one for one in report.abilities if one.name in NEED_GROUPS):
        assert (ability.missing, ability.fix) == (lack.missing, lack.fix), ability.name
    shown = {finding.name: finding for finding in report.findings}["groups"]
    assert f"because {lack.missing} is missing" in shown.what
    assert shown.fix.startswith(lack.fix)
    put(root, "/sys/fs/cgroup/cgroup.procs", "")
    report = host.doctor(host.read(root, sample_s=0))
    assert {one.name for one in report.abilities if one.can} >= set(NEED_GROUPS)
    assert groups.lacking(Asked(level="own", tree=Tree(root)), "cpu") is None


INSIDE = """
from sojourn.knobs import KINDS, Asked
for name, level in (("thp", "{thp}"), ("busy_poll", "7us"), ("cpu_quota", "50%")):
    lack = KINDS[name].lacks(Asked(level=level))
    print(name, "|", lack.missing if lack else "", "|", lack.fix if lack else "")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts of one's own need root")
def test_on_this_machine_with_its_mounts_made_read_only(tmp_path: Path) -> None:
    now = Tree().text(thp.PATH)
    level = "never" if now and "[never]" not in now else "always"
    (tmp_path / "inside.py").write_text(INSIDE.replace("{thp}", level))
    script = (
        "mount --make-rprivate / && for m in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts); do "
        'mount -o remount,bind,ro "$m" || exit 77; done; mount -o remount,bind,ro /sys || exit 77; '
        "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys || exit 77; "
        f'exec "{sys.executable}" {tmp_path}/inside.py'
    )
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
        timeout=120,
    )
    if done.returncode == 77:
        pytest.skip(f"mounts cannot be made read-only here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    reports = [line.split(" | ") for line in done.stdout.splitlines()]
    seen = [line for line in reports if Tree().exists(FILE_OF[line[0]])]
    assert seen, done.stdout
    for _, missing, fix in seen:
        assert "is mounted read-only" in missing, done.stdout
        assert "as root" not in fix, done.stdout


FILE_OF = {"thp": thp.PATH, "busy_poll": busy_poll.READ, "cpu_quota": "/sys/fs/cgroup"}
