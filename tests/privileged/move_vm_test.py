"""`--shield move` on a real kernel: in a VM, since it moves what the lab did not start.

The check itself is `move_in_vm.py`. Its kernel is the distribution's 6.12; its CPUs are translated.
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
PROGRAM = FOLDER / "move_in_vm.py"
BOOT_S_MAX = 150.0  # of CPU time
# fmt: off
CHECKS = (
    "moved", "as asked, or named as refused", "nobody is left", "interrupts", "inherited", "felt",
    "put back", "what was started meanwhile", "moved by the lab that was killed", "restore",
    "put back after a kill", "nothing left to restore",
)
# fmt: on


@pytest.mark.parametrize("series", ["6.1", "6.12"])
def test_everything_leaves_the_cpu_and_comes_back(series: str, tmp_path: Path) -> None:
    try:
        image = vm.initramfs(tmp_path, [], python.needed(PROGRAM), python.line(PROGRAM))
        console = vm.boot(vm.kernel(series), image, within_s=BOOT_S_MAX)
    except vm.UnavailableError as lack:
        pytest.skip(f"no VM: {lack}")
    assert vm.DONE in console, console
    assert "FAILED" not in console, console
    assert [check for check in CHECKS if f"ok: {check}: " not in console] == [], console
