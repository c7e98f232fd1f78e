"""Several generators on one load that goes nowhere: they begin together and are read as one."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from sojourn import programs
from sojourn.errors import RunFault
from sojourn.run import clients
from sojourn.run.generator import Watcher
from sojourn.run.generator_job import Files
from sojourn.samples import intervals, load_result, raw_sojourn_ns


class Notes:
    def started(self, what: str, pid: int, start_ticks: int) -> int:
        return pid

    def undone(self, entry: int) -> None:
        return


class Seen(Watcher):
    def __init__(self) -> None:
        self.lines: list[Mapping[str, Any]] = []

    def second(self, line: Mapping[str, Any]) -> None:
        self.lines.append(line)


def job(folder: Path) -> dict[str, Any]:
    return {
        "target": "null:",
        "rate": "6000",
        "duration": "1s",
        "warmup": "0.2s",
        "drain": "0s",
        "connections": 6,
        "wait": "sleep",
        "seed": 3,
        "qos_quantile": 0.99,
        "qos_bound": "1h",
        "hlog": str(folder / "load.hlog"),
        "raw": str(folder / "raw.parquet"),
        "raw_max": 600,
    }


def test_three_generators_begin_together_and_are_read_as_one(tmp_path: Path) -> None:
    seen = Seen()
    clients.run(job(tmp_path), 3, Files.named(tmp_path, "load"), Notes(), seen)
    whole = load_result(tmp_path / "load.json")
    parts = [json.loads((tmp_path / f"load.{n}.json").read_text()) for n in (1, 2, 3)]
    assert len({part["start_ns"] for part in parts}) == 1, "one instant"
    assert all(part["start_ns"] == part["job"]["start_at"] for part in parts)
    assert len({part["job"]["seed"] for part in parts}) == 3
    assert whole.requests == sum(part["requests"] for part in parts)
    assert whole.sojourn_ns.count == sum(part["sojourn_ns"]["count"] for part in parts)
    assert (whole.job["rate"], whole.job["connections"]) == ("6000", 6)
    sigma = 6000**0.5
    assert abs(whole.requests - 6000) < 6 * sigma, "Poisson streams add up"
    slices = [part for part in intervals(tmp_path / "load.hlog") if part.tag == "all"]
    assert sum(part.sojourn.total for part in slices) == whole.sojourn_all_ns.count
    assert len(pq.read_table(tmp_path / "raw.parquet")) == 600
    raw = raw_sojourn_ns(tmp_path / "raw.parquet")
    assert raw is not None
    assert whole.windows is not None
    assert sum(whole.windows.n) == whole.sojourn_ns.count
    assert all(line["sent_rps"] < 20_000 for line in seen.lines)


def test_generators_that_were_not_ready_are_given_more_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, times = tmp_path / "sojourn-load", tmp_path / "times"
    path.write_text(
        f"#!{sys.executable} -IS\nimport sys\n"
        f"open({str(times)!r}, 'a').write('x')\n"
        "sys.stderr.write('error: the run was ready 3 ms after its start\\n"
        "  at: start_at\\n  fix: later\\n'); sys.exit(4)\n"
    )
    path.chmod(0o755)
    monkeypatch.setattr(programs, "find", lambda name, fix=None: path)
    with pytest.raises(RunFault, match="after its start"):
        clients.run(job(tmp_path), 2, Files.named(tmp_path, "load"), Notes())
    assert len(times.read_text()) >= len(clients.AHEAD_S), "asked again each time"


def test_one_client_leaves_one_result(tmp_path: Path) -> None:
    clients.run(job(tmp_path), 1, Files.named(tmp_path, "load"), Notes())
    assert sorted(path.name for path in tmp_path.glob("load*.json")) == [
        "load.job.json",
        "load.json",
    ]
