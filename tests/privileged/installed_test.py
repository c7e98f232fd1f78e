"""What a release left is installed and used on a Debian without compiler, as a stranger would."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sojourn import __version__

pytestmark = [pytest.mark.privileged, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
DIST = ROOT / "target/dist"
WAIT_S_MAX = 1500.0  # packages come from the network, and a machine may be slow


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a root folder is made and mounted")
@pytest.mark.skipif(
    not (DIST / "SHA256SUMS").exists(), reason="needs what `make release` leaves in target/dist"
)
@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_wheel_deb_and_tarball_work_without_a_compiler(suite: str) -> None:
    script = str(ROOT / "scripts/fresh")
    command = [script, "--suite", suite, "--dist", str(DIST), "./installed", "--brief"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_S_MAX)
    assert done.returncode == 0, done.stderr
    assert "everything that was installed was used" in done.stderr
    assert f"sojourn {__version__} (" in done.stdout
