"""A Python program in a VM: this interpreter, without what a site adds, and what it imports."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

vm = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("vm.py"))))


def line(program: Path) -> str:
    """The program as a line of shell."""
    return f"PYTHONHOME={sys.base_prefix} {interpreter()} -S -B {program}"


def interpreter() -> Path:
    """The interpreter itself, past the links of an environment."""
    return Path(sys.executable).resolve()


def needed(program: Path) -> dict[str, Path]:
    """Path in the VM → file here: the same for the interpreter, its libraries and each module.

    Args:
        program: that prints the files it imports if it is asked for its `imports`.
    """
    process = subprocess.run(
        [interpreter(), "-S", program, "imports"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    modules = [Path(line) for line in process.stdout.splitlines()]
    always = Path(sys.base_prefix, "lib", f"python3.{sys.version_info.minor}", "encodings")
    files = {interpreter(), program, *modules, *always.glob("*.py")}
    objects = [file for file in files if file.read_bytes()[:4] == b"\x7fELF"]
    files |= {library for file in objects for library in vm.libraries(file)}
    return {str(file): file for file in sorted(files)}
