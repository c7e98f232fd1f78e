"""The black box's unit for systemd, as systemd itself reads it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sojourn import programs

TRACE = programs.maybe("sojourn-trace")
ANALYZE = shutil.which("systemd-analyze")
pytestmark = [
    pytest.mark.skipif(TRACE is None, reason="needs sojourn-trace"),
    pytest.mark.skipif(ANALYZE is None, reason="needs systemd-analyze"),
]


def unit(folder: Path, *words: str) -> Path:
    """The unit that the program prints for a command line."""
    made = subprocess.run(
        [str(TRACE), "--ring", *words, "--systemd"], capture_output=True, text=True, check=True
    )
    path = folder / "sojourn-ring.service"
    path.write_text(made.stdout)
    return path


def verified(path: Path) -> tuple[int, str]:
    """What systemd says of a unit."""
    done = subprocess.run(
        [str(ANALYZE), "verify", "--man=no", str(path)], capture_output=True, text=True, check=False
    )
    # Other units of the machine may have faults of their own.
    lines = [line for line in done.stderr.splitlines() if path.name in line]
    return done.returncode, "\n".join(lines)


@pytest.mark.parametrize(
    "words",
    [
        ("--comm", "memcached", "--over", "5ms"),
        ("--cgroup", "a b%i$HOME", "--trigger", "p99.9>5ms", "--listen", "9464"),
        ("--comm", "x", "--log", "/var/log/sojourn/ring.log", "--dumps", "/srv/my dumps"),
    ],
)
def test_systemd_takes_it_as_it_is(words: tuple[str, ...], tmp_path: Path) -> None:
    assert verified(unit(tmp_path, *words)) == (0, "")


def test_a_mistake_in_it_would_be_seen(tmp_path: Path) -> None:
    path = unit(tmp_path, "--comm", "x")
    path.write_text(path.read_text().replace("Restart=on-failure", "Restart=sometimes"))
    assert "sometimes" in verified(path)[1]


def test_it_has_few_rights(tmp_path: Path) -> None:
    path = unit(tmp_path, "--comm", "x")
    done = subprocess.run(
        [str(ANALYZE), "security", "--offline=true", "--no-pager", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    if not found:
        pytest.skip("needs systemd-analyze that judges files")
    assert float(found[1]) <= 5.0, "a unit without any of its limits has 9 or more"
