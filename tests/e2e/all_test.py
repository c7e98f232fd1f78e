"""`sojourn run --all` on a real server: two studies of its own, one of which has no place here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn import store
from sojourn.errors import Exit

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("turn")]

STUDY = """schema = "sojourn.study/1"
name = "{name}"
question = "What do CPUs do to {name}?"
aa = false
probe = "0"
[run]
measure_s = 0.3
warmup_s = 0.1
repeats = 1
fractions = [0.2]
peak_s = 0.3
peak_repeats = 1
retries = 0
shield = "none"
[[services]]
kind = "memcached"
measure = ["sweep"]
[services.params]
items = 2000
[services.load]
connections = 8
[factors]
"services.memcached.knobs.cpuset" = [{levels}]
"""
FAR = 4000  # a CPU that no machine of ours has


def test_one_page_says_what_was_measured_and_what_this_machine_cannot_host(
    tmp_path: Path, needs: Callable[[str], None]
) -> None:
    needs("memcached")
    here = max(os.sched_getaffinity(0))
    for name, levels in (("near", f'"{here}", "{FAR}"'), ("far", f'"{FAR}", "{FAR + 1}"')):
        text = STUDY.format(name=name, levels=levels)
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    results = tmp_path / "results"
    env = {
        **{key: value for key, value in os.environ.items() if key != "SOJOURN_RESULTS"},
        "PYTHONPATH": str(Path(store.__file__).parents[2]),
        "SOJOURN_STATE": str(tmp_path / "state"),
    }
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sojourn",
            "run",
            "--all",
            "--only",
            "near.toml,far.toml",
            "--profile",
            "quick",
            "--force",
            "--results",
            str(results),
            "--json",
        ],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {Exit.VIOLATED, Exit.UNKNOWN}, done.stderr
    assert "Traceback" not in done.stderr
    near, far = json.loads(done.stdout)["studies"]
    assert far["state"] == "skipped"
    assert "CPUs" in far["fix"]
    assert near["state"] in {"answered", "undecided"}, done.stderr
    assert len(near["left_out"]) == 1
    page = (results / "index.html").read_text(encoding="utf-8")
    assert f'href="{near["report"]}"' in page
    assert "What do CPUs do to far?" in page
    report = (results / near["report"]).read_text(encoding="utf-8")
    assert "Not measured: 1 combination of levels" in report
