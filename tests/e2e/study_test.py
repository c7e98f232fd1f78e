"""Whole studies on real servers: the answer's form, resumption after `kill -9`, ^C, what is left.

The machine that tests may be busy, so nothing is asserted about the numbers: outages are allowed
for, and a verdict of `unknown` is as good as any.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import store
from sojourn.errors import Exit, RunFault
from sojourn.places import proc
from sojourn.plan import Point
from sojourn.run import fill
from sojourn.spec import Study

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("turn")]

BUSY = (
    "services.memcached.load.outage_over='10s'",
    "services.memcached.load.timely_within='10s'",
    "services.memcached.params.items=2000",
    "services.memcached.load.connections=8",
    "services.memcached.qos.bound='500ms'",
    "run.peak_s=0.3",
    "run.peak_repeats=1",
    "run.warmup_s=0.1",
    "run.retries=0",
    "run.search.probe_s=0.3",
    "run.search.budget_s=4",
    "run.search.confirm_s=0.3",
    "run.search.confirm_repeats=1",
)
ENDS_S_MAX = 300.0
GONE_S_MAX = 300.0


def command(results: Path | None, *more: str) -> list[str]:
    """A short study; `results` None: the default, a folder below the working directory.

    Forced: what else the machine measures or does is no business of these tests.
    """
    sets = [part for text in BUSY for part in ("--set", text)]
    into = ["--results", str(results)] if results else []
    # fmt: off
    return [
        sys.executable, "-m", "sojourn", "run", "max_load_memcached", "-p", "quick", *sets,
        "--force", *into, *more,
    ]
    # fmt: on


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    package = Path(store.__file__).parents[2]
    own = {key: value for key, value in os.environ.items() if key != "SOJOURN_RESULTS"}
    return {**own, "PYTHONPATH": str(package), "SOJOURN_STATE": str(tmp_path / "state")}


def servers(of: int) -> list[proc.Stat]:
    """The memcached processes below a lab; none if it is gone."""
    seen = {result.pid: result for result in map(proc.stat, proc.pids()) if result is not None}

    def is_below(process: proc.Stat | None) -> bool:
        return process is not None and (process.parent == of or is_below(seen.get(process.parent)))

    return [
        outcome for outcome in seen.values() if "memcached" in outcome.name and is_below(outcome)
    ]


def stored_points(results: Path) -> int:
    return len(list(results.glob("*/*/*/points/*/outcome.parquet")))


def wait_for_points(lab: subprocess.Popen[str], results: Path, points: int) -> None:
    end = time.monotonic() + ENDS_S_MAX
    while stored_points(results) < points or not servers(lab.pid):
        assert lab.poll() is None, lab.stderr.read() if lab.stderr else ""
        assert time.monotonic() < end, f"{points} points were not measured in {ENDS_S_MAX} s"
        time.sleep(0.02)


def wait_until_gone(processes: list[proc.Stat]) -> None:
    end = time.monotonic() + GONE_S_MAX
    while any(map(proc.is_alive, processes)):
        assert time.monotonic() < end, "a server outlived its lab"
        time.sleep(0.02)


def test_one_command_measures_answers_and_reports(tmp_path: Path, env: dict[str, str]) -> None:
    done = subprocess.run(
        command(None, "--json"),
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {Exit.OK, Exit.VIOLATED, Exit.UNKNOWN}, done.stderr
    answer = json.loads(done.stdout)
    assert answer["services"][0]["setup"]
    assert answer["environment"]["kernel"]["release"]
    record = store.read(Path(answer["record"]))
    assert record.is_complete
    assert len(record.outcomes()) == stored_points(tmp_path / "results")
    pages = [Path(page) for page in answer["pages"]]
    assert any(page.suffix == ".html" and page.is_file() for page in pages)
    assert not (tmp_path / "state").exists() or not list((tmp_path / "state").iterdir())


def test_kill_9_loses_the_point_in_flight_and_the_next_start_goes_on(
    tmp_path: Path, env: dict[str, str]
) -> None:
    with subprocess.Popen(command(tmp_path), env=env, stderr=subprocess.PIPE, text=True) as lab:
        wait_for_points(lab, tmp_path, 2)
        left = servers(lab.pid)
        before = stored_points(tmp_path)
        lab.kill()
    wait_until_gone(left)
    assert stored_points(tmp_path) - before <= 1
    done = subprocess.run(command(tmp_path), env=env, capture_output=True, text=True, check=False)
    assert done.returncode in {Exit.OK, Exit.VIOLATED, Exit.UNKNOWN}, done.stderr
    assert "resumed with" in done.stderr
    records = list(store.records(tmp_path))
    assert len(records) == 1, "the same record went on"
    outcomes = store.read(records[0]).outcomes()
    keys = [outcome.point.key for outcome in outcomes]
    assert len(set(keys)) == len(keys)


def test_ctrl_c_ends_in_order_and_says_how_to_go_on(tmp_path: Path, env: dict[str, str]) -> None:
    words = ["env", "--default-signal=INT", *command(tmp_path)]  # else ignored in the background
    with subprocess.Popen(words, env=env, stderr=subprocess.PIPE, text=True) as lab:
        wait_for_points(lab, tmp_path, 1)
        left = servers(lab.pid)
        lab.send_signal(signal.SIGINT)
        _, text = lab.communicate(timeout=ENDS_S_MAX)
    assert lab.returncode == Exit.INTERRUPTED
    assert "resume with: sojourn run max_load_memcached" in text
    assert "Traceback" not in text
    wait_until_gone(left)
    assert stored_points(tmp_path) >= 1


def test_a_server_that_could_not_be_filled_does_not_meet_the_next_point(
    lab: SimpleNamespace,
    needs: Callable[[str], None],
    measure: Callable[[Study, Point], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needs("memcached")
    preload = fill.preload
    troubles = [RunFault("interrupted", at="preload", fix="again")]

    def interrupted_once(*arguments: Any) -> int:
        if troubles:
            raise troubles.pop()
        return preload(*arguments)

    monkeypatch.setattr(fill, "preload", interrupted_once)
    study, point = lab.study("memcached"), lab.point("memcached")
    with pytest.raises(RunFault, match="interrupted"):
        measure(study, point)
    folder = measure(study, replace(point, key=f"{point.key}~1"))
    assert lab.wrong(folder) == {}, "every item is there"
