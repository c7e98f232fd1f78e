"""Borrowed virtual time on a real kernel with sched_ext, in a VM: the one of `sojourn install vm`.

On one CPU a task that wakes a hundred times a second for a millisecond of work, a square wave of
6 ms in 48 ms (L18) and two that spin: how late it wakes under the kernel's own scheduler, under BVT
without warp and with it, and what the others get meanwhile. CPUs are translated, so only effects of
milliseconds are judged, against each other.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import install
from sojourn.errors import Fault

FOLDER = Path(__file__).parent
vm = SimpleNamespace(**runpy.run_path(str(FOLDER / "vm.py")))
python = SimpleNamespace(**runpy.run_path(str(FOLDER / "vm_python.py")))
pytestmark = [pytest.mark.privileged, pytest.mark.timeout(1000, func_only=True)]
BUILD_S_MAX = 900
BOOT_S_MAX = 150.0  # of CPU time
KNOB = FOLDER / "sched_in_vm.py"
KNOB_CHECKS = (
    "policy",
    "policy put back",
    "a scheduler that was killed",
    "in force for a lab",
    "a lab that was killed",
    "nothing left to restore",
)
CLOCK = "shift=4,sleep=off"  # so that it is the scheduler who is late, and not this machine
#: Whoever is to be scheduled waits for a file, and the script for the scheduler.
SCRIPT = r"""
S=/sys/kernel/sched_ext
mount -t cgroup2 none /sys/fs/cgroup
for object in /t/*.o; do
    [ -e $object ] && sojourn-sched --verify $object > /dev/null && echo "loaded $object"
done
start() { # classes; none: the kernel's own scheduler
    K=
    if [ -n "$1" ]; then
        sojourn-sched --job "{\"classes\": [$1]}" > /tmp/said & K=$!
        until grep -q schema /tmp/said || ! kill -0 $K; do sleep 0.1; done
    fi
    touch /tmp/go
}
told() { # name; what they said
    name=$1; shift
    echo "RUN $name $(cat $S/state) $(cat "$@" | tr '\n' ' ')"
    rm /tmp/go
}
end() { # name
    kill $K; wait $K; echo "ended $1 $? $(cat $S/state)"; echo "LAST $1 $(tail -n 1 /tmp/said)"
}
beside_all() { # name; keys of the service's class
    for n in wake wave spin spin2; do beside ${n%2} 1 /tmp/go 4 > /tmp/$n & eval $n=$!; done
    start "${2:+{\"name\": \"service\", \"pids\": [$wake], $2\}}"
    wait $wake $wave $spin $spin2
    told $1 /tmp/wake /tmp/wave /tmp/spin /tmp/spin2
    [ -z "$K" ] || end $1
}
beside_all default
beside_all fair '"warp": "0"'
beside_all warp '"warp": "20ms"'
for n in a b c; do beside spin 1 /tmp/go 3 > /tmp/$n & eval $n=$!; done
mkdir -p /sys/fs/cgroup/heavy/deep; echo $a > /sys/fs/cgroup/heavy/deep/cgroup.procs
start '{"name": "heavy", "cgroups": ["heavy"], "weight": 200}'
wait $a $b $c; told weight /tmp/a /tmp/b /tmp/c
echo "before $(cat $S/state) $(cat $S/root/ops)"
kill -9 $K; n=0
while [ "$(cat $S/state)" != disabled ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
echo "after $(cat $S/state)"
"""


@dataclass(frozen=True)
class Run:
    """How all fared: lateness, µs, and shares of a CPU."""

    p50: float
    p90: float
    p99: float
    wave: float
    spins: tuple[float, ...]


@pytest.fixture(scope="session")
def programs() -> dict[str, Path]:
    """The scheduler, those that it schedules, and its object by every clang that is here."""
    if subprocess.run([vm.ROOT / "scripts/setup", "--bpf"], check=False).returncode:
        pytest.skip("sojourn-sched cannot be built here: see scripts/setup --bpf")
    target = Path(os.environ.get("CARGO_TARGET_DIR", vm.ROOT / "target"))
    for what in (
        "build -p sojourn-tools --bin sojourn-sched",
        "build -p sojourn-sched --example beside",
        "test -p sojourn-sched --test clangs",
    ):
        words = f"cargo {what} --features bpf --release --quiet --locked".split()
        subprocess.run(words, cwd=vm.ROOT, check=True, timeout=BUILD_S_MAX)
    results = {
        "sojourn-sched": target / "release/sojourn-sched",
        "beside": target / "release/examples/beside",
    }
    return results | {made.name: made for made in target.glob("tmp/sched-clangs/*.o")}


def guest_kernel() -> Path:
    """The kernel of `sojourn install vm`."""
    try:
        return install.part("vm").ready().at / "vmlinuz"
    except Fault as lack:
        pytest.skip(f"no guest kernel: {lack.what} ({lack.fix})")


def runs(console: str) -> dict[str, list[str]]:
    """Lines of the script by name: what is behind it."""
    matches = re.findall(r"^RUN (\w+) (\w+) (.*?)\r?$", console, re.MULTILINE)
    return {name: [state, *rest.split()] for name, state, rest in matches}


def a_run(words: list[str]) -> Run:
    numbers = [float(word) for word in words[1:] if re.fullmatch(r"[\d.]+", word)]
    return Run(*numbers[:4], tuple(numbers[4:]))


def test_warp_decides_who_goes_first_and_weight_who_gets_how_much(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    kernel = guest_kernel()
    objects = [name for name in programs if name.endswith(".o")]
    files = {f"/t/{name}": programs[name] for name in objects}
    try:
        needed = [programs["sojourn-sched"], programs["beside"]]
        image = vm.initramfs(tmp_path, needed, files, SCRIPT)
        console = vm.boot(kernel, image, within_s=BOOT_S_MAX, clock=CLOCK)
    except vm.UnavailableError as lack:
        pytest.skip(f"no VM: {lack}")
    assert vm.DONE in console, console
    result = runs(console)
    states = [result[name][0] for name in ("default", "fair", "warp", "weight")]
    assert states == ["disabled", "enabled", "enabled", "enabled"], console
    for name in objects:
        assert f"loaded /t/{name}" in console, console
    default, fair, warp = (a_run(result[name]) for name in ("default", "fair", "warp"))
    # Who has warp goes first; without it BVT is one more fair scheduler. (Seen: 0.2 ms, 4 to 5 ms.)
    assert warp.p90 < min(default.p90, fair.p90) / 3, console
    assert max(default.p90, fair.p90) < 5 * min(default.p90, fair.p90), console
    # The others keep what they had; equals get equally much.
    assert warp.wave + sum(warp.spins) > 0.85 * (default.wave + sum(default.spins)), console
    assert warp.spins[0] == pytest.approx(warp.spins[1], rel=0.15), console
    heavy, *light = (float(word) for word in result["weight"][2::2])
    assert heavy == pytest.approx(sum(light), rel=0.15), console
    # What it counts is what was seen.
    last = json.loads(re.findall(r"^LAST warp (.*?)\r?$", console, re.MULTILINE)[0])
    service = next(one for one in last["classes"] if one["name"] == "service")
    assert last["is_summary"], console
    assert service["preempting"] > 100, console
    # Told to end or killed, the kernel takes all tasks back.
    assert console.count("ended warp 0 disabled") == 1, console
    assert "before enabled sojourn_bvt" in console, console
    assert "after disabled" in console, console


def test_the_knob_puts_it_in_force_and_takes_it_back(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    kernel = guest_kernel()
    try:
        files, line = python.needed(KNOB), python.line(KNOB)
        image = vm.initramfs(tmp_path, [programs["sojourn-sched"]], files, line)
        console = vm.boot(kernel, image, within_s=BOOT_S_MAX)
    except vm.UnavailableError as lack:
        pytest.skip(f"no VM: {lack}")
    assert vm.DONE in console, console
    assert "FAILED" not in console, console
    assert [check for check in KNOB_CHECKS if f"ok: {check}: " not in console] == [], console
