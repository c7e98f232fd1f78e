"""Knobs where this machine cannot have them: control groups of version 2 alone, hyper-threads.

The check itself is `knobs_in_vm.py`, on the distribution's kernel with two cores of two threads
each. Its CPUs are translated, so it says what a knob does, never how fast.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

FOLDER = Path(__file__).parent
vm = SimpleNamespace(**runpy.run_path(str(FOLDER / "vm.py")))
python = SimpleNamespace(**runpy.run_path(str(FOLDER / "vm_python.py")))
pytestmark = [pytest.mark.privileged, pytest.mark.timeout(1000, func_only=True)]
PROGRAM = FOLDER / "knobs_in_vm.py"
BOOT_S_MAX = 150.0  # of CPU time
GROUPS = "mount -t cgroup2 none /sys/fs/cgroup"
TWO_CORES_OF_TWO = "4,cores=2,threads=2"
# fmt: off
CHECKS = (
    "hyper-threads", "cpu_quota", "cpu_weight", "memory_limit", "numa", "cpuset", "policy", "smt",
    "cpu_quota put back", "smt put back", "a lab was killed with all knobs turned", "restore",
    "all put back after a kill", "nothing left to restore",
)
# fmt: on


@pytest.mark.parametrize("series", ["6.12"])
def test_knobs_are_measured_and_put_back(series: str, tmp_path: Path) -> None:
    try:
        script = f"{GROUPS}; {python.line(PROGRAM)}"
        image = vm.initramfs(tmp_path, [], python.needed(PROGRAM), script)
        kernel = vm.kernel(series)
        console = vm.boot(kernel, image, within_s=BOOT_S_MAX, cpus=TWO_CORES_OF_TWO)
    except vm.UnavailableError as lack:
        pytest.skip(f"no VM: {lack}")
    assert vm.DONE in console, console
    assert "FAILED" not in console, console
    assert [check for check in CHECKS if f"ok: {check}: " not in console] == [], console
