"""What runs in a guest finds all that it imports: the interpreter alone, with no site packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("program", sorted((HERE / "privileged").glob("*_in_vm.py")), ids=str)
def test_a_program_for_a_guest_needs_no_site_packages(program: Path) -> None:
    words = [sys.executable, "-S", program, "imports"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # It reads what services are compiled from, which a guest has not.
    assert "sojourn/install/__init__.py" not in done.stdout
