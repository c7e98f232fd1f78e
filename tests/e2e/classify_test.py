"""Services of known class, really run: what is reported about them is right or undecided."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import programs, store
from sojourn.services.tailbench import queries

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("turn")]

# The classifier looks at the peaks alone.
SHORT = (
    "run.peak_s=1.2",
    "run.peak_repeats=3",
    "run.measure_s=0.2",
    "run.warmup_s=0.2",
    "run.retries=0",
)


def test_planted_services_are_not_taken_for_what_they_are_not(tmp_path: Path) -> None:
    """A machine that others use makes answers undecided, and never wrong."""
    if programs.maybe(queries.PROGRAM) is None:
        pytest.skip("needs sojourn-query: make build")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs")
    sets = [part for text in SHORT for part in ("--set", text)]
    words = ["run", "planted_classes", *sets, "--force", "--results", str(tmp_path / "results")]
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(store.__file__).parents[2]),
        "SOJOURN_STATE": str(tmp_path / "state"),
    }
    lab = [sys.executable, "-m", "sojourn"]
    ran = subprocess.run([*lab, *words], env=env, capture_output=True, text=True, check=False)
    assert ran.returncode in {0, 3}, ran.stderr
    asked = ["classify", "planted_classes", "--json", "--results", str(tmp_path / "results")]
    process = subprocess.run([*lab, *asked], env=env, capture_output=True, text=True, check=False)
    if "no valid run of this record" in process.stderr:
        pytest.skip("unknown: the machine let no run be believed")
    assert process.returncode in {0, 3}, process.stdout + process.stderr
    known = json.loads(process.stdout)["known"]
    assert {"scalable", "SMT-sensitive", "critical resource"} & {one["question"] for one in known}
    assert "wrong" not in {one["how"] for one in known}, known
