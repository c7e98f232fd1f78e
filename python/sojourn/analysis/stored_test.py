"""A record on disk gives the arrays that were written into it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from hdrh.histogram import HdrHistogram

from sojourn import samples, store
from sojourn.analysis.findings import Findings
from sojourn.analysis.stored import _lateness, _measured, given
from sojourn.analysis.study import study
from sojourn.analysis.testing import memcached, study_of
from sojourn.plan.next import next_point
from sojourn.spec import Goal

NO_SPAN = {
    "mean": None, "p50": None, "p90": None, "p95": None, "p99": None, "p999": None,
    "max": None, "count": 0, "lost": 0, "hdr": "",
}  # fmt: skip


def result(times_ns: list[int], lost: int) -> dict[str, object]:
    """A `load.json` of these times."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for ns in times_ns:
        histogram.record_value(ns)
    rate = float(len(times_ns))
    span = {
        **NO_SPAN, "mean": float(np.mean(times_ns)), "count": len(times_ns) + lost, "lost": lost,
        "hdr": histogram.encode().decode(),
    }  # fmt: skip
    return {
        "schema": "sojourn.load.result/1", "program": "sojourn-load 0", "started_unix_ns": 0,
        "job": {"qos_quantile": 0.99, "qos_bound": "1ms"}, "measured_s": 1.0, "offered_rps": rate,
        "achieved_rps": rate, "requests": len(times_ns) + lost, "errors": {"timed_out": lost},
        "reply_bytes": 0, "timely_ratio": 0.99, "verdict": "holds", "reasons": [],
        "outages": {"count": 0, "total_ns": 0, "longest_ns": 0, "share_time": 0.001,
                    "share_excluded": 0.002, "log": []},
        "sojourn_ns": span, "sojourn_all_ns": span, "wire_ns": NO_SPAN, "first_byte_ns": NO_SPAN,
        "send_lag_ns": {**NO_SPAN, "p99": 7_000}, "pick_up_ns": {**NO_SPAN, "p99": 3_000},
        "probe_sojourn_ns": None, "checks": {"rate_error": 0.0, "steal_share": 0.01},
        "cost": {"cpu_ns_per_request": 1.0},
    }  # fmt: skip


def record(tmp_path: Path, points: int) -> Path:
    """A record with its first points, as a run leaves it."""
    asked = study_of(memcached(measure=[Goal.SWEEP]))
    about = {"command": "sojourn run latency_vs_load", "noise": [["steal 1 %", "another host"]]}
    rng = np.random.default_rng(1)
    with store.open(tmp_path, asked, machine="test", manifest=about) as kept:
        for _ in range(points):
            planned = next_point(asked, kept.outcomes())
            assert planned is not None
            folder = kept.folder(planned)
            times = [int(ns) for ns in rng.exponential(90_000, 2_000) + 10_000]
            (folder / "load.json").write_text(json.dumps(result(times, lost=3)))
            service = {"workers": 2, "version": "1.6", "setup": [["items", "10k"]]}
            (folder / "service.json").write_text(json.dumps(service))
            kept.add(replace(samples.read(folder), wall_s=2.0))
        return kept.path


def find(path: Path) -> Findings:
    return study(given(store.read(path)))


def test_what_was_written_is_found(tmp_path: Path) -> None:
    found = find(record(tmp_path, 3))
    assert (found.command, found.noise) == (
        "sojourn run latency_vs_load",
        (("steal 1 %", "another host"),),
    )
    assert found.wall_s == 6
    service = found.services[0]
    assert service.setup == (("version", "1.6"), ("items", "10k"))
    assert "memcached on 2 threads" in service.answer
    run = service.points[0].runs[0]
    assert (run.timely_ratio, run.outage_share, run.excluded_share) == (0.99, 0.001, 0.002)
    assert (run.send_lag_p99_ns, run.pick_up_p99_ns, run.steal_share) == (7_000, 3_000, 0.01)
    assert run.errors == (("timed_out", 3),)
    assert run.mean_ns is None  # three never completed
    p99 = service.points[0].quantiles[3]
    assert p99.requests == 2_003
    assert p99.value is not None
    assert 300_000 < p99.value < 700_000


def test_a_point_that_failed_may_have_left_anything(tmp_path: Path) -> None:
    path = record(tmp_path, 3)
    kept = store.read(path)
    last = kept.outcomes()[-1]
    (kept.folder_of(last) / "load.json").write_text("{")
    failed = replace(last, requests=0, reasons=("the server died",))
    assert _measured(kept.folder_of(last), failed).sojourn.n == 0


def test_how_late_replies_were_picked_up_is_kept_for_each_quantile_that_is_known() -> None:
    known = {"mean": 1.0, "p50": 2, "p90": 3, "p95": 4, "p99": 5, "p999": None}
    lag = SimpleNamespace(**known)
    late = SimpleNamespace(lateness_ns=7, pick_up_ns=lag)
    assert _lateness(late) == {None: 1.0, 0.5: 2, 0.9: 3, 0.95: 4, 0.99: 5}  # type: ignore[arg-type]
    assert _lateness(SimpleNamespace(lateness_ns=None, pick_up_ns=lag)) == {}  # type: ignore[arg-type]
