"""`--shield move` on a real kernel: in a VM, since it moves what the lab did not start.

The check itself is `move_in_vm.py`. Its kernel is the distribution's 6.12; its CPUs are translated.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

vm = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("vm.py"))))
pytestmark = [pytest.mark.privileged, pytest.mark.timeout(1000, func_only=True)]
PROGRAM = Path(__file__).with_name("move_in_vm.py")
BOOT_S_MAX = 150.0  # of CPU time
CHECKS = (
    "moved", "as asked, or named as refused", "nobody is left", "interrupts", "inherited", "felt",
    "put back", "what was started meanwhile", "moved by the lab that was killed", "restore",
    "put back after a kill", "nothing left to restore",
)  # fmt: skip


@pytest.mark.parametrize("series", ["6.1", "6.12"])
def test_everything_leaves_the_cpu_and_comes_back(series: str, tmp_path: Path) -> None:
    try:
        image = vm.initramfs(tmp_path, [], needed(), f"PYTHONHOME={sys.base_prefix} {run()}")
        console = vm.boot(vm.kernel(series), image, within_s=BOOT_S_MAX)
    except vm.UnavailableError as lack:
        pytest.skip(f"no VM: {lack}")
    assert vm.DONE in console, console
    assert "FAILED" not in console, console
    assert [check for check in CHECKS if f"ok: {check}: " not in console] == [], console


def run() -> str:
    """The check as a line of shell: this interpreter, without what a site adds."""
    return f"{interpreter()} -S -B {PROGRAM}"


def interpreter() -> Path:
    return Path(sys.executable).resolve()


def needed() -> dict[str, Path]:
    """Path in the VM → file here: the same for the interpreter, its libraries and each module."""
    told = subprocess.run(
        [interpreter(), "-S", PROGRAM, "imports"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    modules = [Path(line) for line in told.stdout.splitlines()]
    always = Path(sys.base_prefix, "lib", f"python3.{sys.version_info.minor}", "encodings")
    files = {interpreter(), PROGRAM, *modules, *always.glob("*.py")}
    objects = [file for file in files if file.read_bytes()[:4] == b"\x7fELF"]
    files |= {library for file in objects for library in vm.libraries(file)}
    return {str(file): file for file in sorted(files)}
