"""The record of a large campaign is made, gone on with and read by this tree."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MAKE = Path(__file__).parent.parent / "bench" / "campaign" / "make.py"


def made(results: Path, points: int) -> Path:
    words = [sys.executable, str(MAKE), str(results), "--points", str(points)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert not done.returncode, done.stderr
    return Path(done.stdout.strip())


def count(results: Path) -> int:
    words = ["sql", "select count(*) as n from outcomes", "--json", "--results", str(results)]
    command = [sys.executable, "-P", "-m", "sojourn", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return int(json.loads(done.stdout)[0]["n"])


def test_a_record_grows_point_by_point(tmp_path: Path) -> None:
    record = made(tmp_path, 3)
    assert count(tmp_path) == 3
    assert made(tmp_path, 6) == record
    assert count(tmp_path) == 6
