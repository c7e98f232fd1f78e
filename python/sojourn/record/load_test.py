"""A record on disk gives the arrays that were written into it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from sojourn import samples, spec, store
from sojourn.analysis.study import study
from sojourn.analysis.testing import memcached, study_of
from sojourn.findings.findings import Findings
from sojourn.plan.next import Planner, next_point
from sojourn.plan.points import Outcome, Phase, Point, Verdict
from sojourn.plan.rehearsal import imagine
from sojourn.record import load as stored
from sojourn.record import point
from sojourn.record.load import study_data
from sojourn.record.point import HOUR_NS, _second, measured_of
from sojourn.samples.histogram import Histogram
from sojourn.samples.names import PROBE
from sojourn.store import find as of_find
from sojourn.store import record as of_record
from sojourn.store import resumption
from sojourn.testing_questions import PLANS, answers, readers

NO_SPAN = {
    "mean": None,
    "p50": None,
    "p90": None,
    "p95": None,
    "p99": None,
    "p999": None,
    "max": None,
    "count": 0,
    "lost": 0,
    "hdr": "",
}


def result(times_ns: list[int], lost: int) -> dict[str, object]:
    """A `load.json` of these times."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for ns in times_ns:
        histogram.record_value(ns)
    rate = float(len(times_ns))
    span = {
        **NO_SPAN,
        "mean": float(np.mean(times_ns)),
        "count": len(times_ns) + lost,
        "lost": lost,
        "hdr": histogram.encode().decode(),
    }
    return {
        "schema": "sojourn.load.result/1",
        "program": "sojourn-load 0",
        "started_unix_ns": 0,
        "job": {"qos_quantile": 0.99, "qos_bound": "1ms"},
        "measured_s": 1.0,
        "offered_rps": rate,
        "achieved_rps": rate,
        "requests": len(times_ns) + lost,
        "errors": {"timed_out": lost},
        "reply_bytes": 0,
        "timely_ratio": 0.99,
        "verdict": "holds",
        "reasons": [],
        "outages": {
            "count": 0,
            "total_ns": 0,
            "longest_ns": 0,
            "share_time": 0.001,
            "share_excluded": 0.002,
            "log": [],
        },
        "sojourn_ns": span,
        "sojourn_all_ns": span,
        "wire_ns": NO_SPAN,
        "first_byte_ns": NO_SPAN,
        "send_lag_ns": {**NO_SPAN, "p99": 7_000},
        "pick_up_ns": {**NO_SPAN, "p99": 3_000},
        "probe_sojourn_ns": None,
        "checks": {"rate_error": 0.0, "steal_share": 0.01},
        "cost": {"cpu_ns_per_request": 1.0},
    }


def record(tmp_path: Path, points: int) -> Path:
    """A record with its first points, as a run leaves it."""
    asked = study_of(memcached(measure=["sweep"]))
    about = {"command": "sojourn run latency_vs_load", "noise": [["steal 1 %", "another host"]]}
    rng, planner = np.random.default_rng(1), Planner(asked, PLANS)
    with store.open(tmp_path, asked, machine="test", manifest=about) as retained:
        for _ in range(points):
            planned = planner.next(retained.outcomes())
            assert planned is not None
            folder = retained.folder(planned)
            times = [int(ns) for ns in rng.exponential(90_000, 2_000) + 10_000]
            (folder / "load.json").write_text(json.dumps(result(times, lost=3)))
            service = {"workers": 2, "version": "1.6", "setup": [["items", "10k"]]}
            (folder / "service.json").write_text(json.dumps(service))
            retained.add(replace(samples.read(folder), wall_s=2.0))
        return retained.path


def find(path: Path) -> Findings:
    return study(study_data(store.read(path), PLANS, readers()), answers())


def test_what_was_written_is_found(tmp_path: Path) -> None:
    findings = find(record(tmp_path, 3))
    assert (findings.command, findings.noise) == (
        "sojourn run latency_vs_load",
        (("steal 1 %", "another host"),),
    )
    assert findings.wall_s == 6
    service = findings.services[0]
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
    text = store.read(path)
    last = text.outcomes()[-1]
    (text.folder_of(last) / "load.json").write_text("{")
    failed = replace(last, requests=0, reasons=("the server died",))
    assert measured_of(text.folder_of(last), failed).sojourn.n == 0


def outcome(phase: Phase = Phase.SWEEP, requests: int = 100) -> Outcome:
    point = Point(
        key="s/trace/b0/loaded-f0.90/with",
        service="s",
        phase=phase,
        offered_rps=50.0,
        measure_s=2.0,
        warmup_s=0.0,
        seed=1,
    )
    return Outcome(
        point=PLANS.stated(point),
        verdict=Verdict.HOLDS,
        reasons=(),
        offered_rps=50.0,
        achieved_rps=40.0,
        requests=requests,
        over_bound=None,
        lost=0,
        mean_ns=None,
        p50_ns=None,
        p95_ns=None,
        p99_ns=None,
        correlation=1.0,
        wall_s=3.0,
        folder="",
    )


def test_requests_that_failed_stand_in_the_log_as_an_hour_and_are_lost() -> None:
    hour = 3.6e12
    histogram = Histogram(
        lo_ns=np.array([10.0, 3.599e12, hour]),
        hi_ns=np.array([12.0, 3.5999e12, hour + 9]),
        count=np.array([5, 3, 2]),
    )
    interval = SimpleNamespace(sojourn=histogram, start_s=7.0, length_s=2.0, tag="")
    second = _second(interval)  # type: ignore[arg-type]
    assert (second.at_s, second.achieved_rps) == (7.0, 4.0)
    assert (second.sojourn.finite, second.sojourn.lost) == (8, 2)
    assert second.sojourn.hi_ns.tolist() == [12.0, 3.5999e12]
    empty = SimpleNamespace(**{**vars(interval), "length_s": 0.0})
    assert _second(empty).achieved_rps == 0.0  # type: ignore[arg-type]


def test_the_last_bin_below_an_hour_is_no_failure_and_one_that_reaches_it_is() -> None:
    at = HOUR_NS
    histogram = Histogram(
        lo_ns=np.array([1.0, 2.0]), hi_ns=np.array([at - 1, at]), count=np.array([1, 4])
    )
    second = _second(SimpleNamespace(sojourn=histogram, start_s=0, length_s=1))  # type: ignore[arg-type]
    assert (at, second.sojourn.finite, second.sojourn.lost) == (3.6e12, 1, 4)


def test_facts_of_a_service_are_told_in_order_and_what_is_not_known_is_left_out() -> None:
    placement = {"text": "CPU 1", "shared": {"cache": "L3"}}
    facts = {"version": "1.6", "setup": [["items", 10]], "placement": placement}
    assert stored._setup(facts) == (
        ("version", "1.6"),
        ("items", "10"),
        ("placement", "CPU 1"),
        ("cache", "L3"),
    )
    assert stored._setup({"version": "", "setup": None}) == ()


def write(folder: Path, *, lost: int = 0) -> None:
    (folder / "load.json").write_text(json.dumps(result([1000] * 40, lost=lost)))


def test_the_share_of_raw_times_is_theirs_over_all_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, lost=10)
    values: list[np.ndarray[tuple[int], np.dtype[np.float64]] | None] = [None]
    monkeypatch.setattr(point, "raw_sojourn_ns", lambda _path: values[0])
    one = Histogram(lo_ns=np.ones(1), hi_ns=np.ones(1), count=np.ones(1, np.int64))
    second = {"start_s": 0.0, "length_s": 1.0, "sojourn": one}
    log = [SimpleNamespace(tag=tag, **second) for tag in ("", "warm")]
    monkeypatch.setattr(point, "intervals", lambda _path: log)
    measured = measured_of(tmp_path, outcome())
    assert (measured.raw_share, measured.raw_sojourn_ns, len(measured.seconds)) == (1.0, None, 1)
    assert (measured.sojourn.finite, measured.sojourn.lost) == (40, 10)
    for n, share in ((10, 0.2), (50, 1.0), (80, 1.0), (0, 0.02)):
        values[0] = np.ones(n)
        assert measured_of(tmp_path, outcome()).raw_share == share
    assert measured_of(tmp_path, outcome(requests=0)).sojourn.n == 0
    assert measured_of(tmp_path, outcome(Phase.PEAK)).sojourn.n == 0
    assert measured_of(tmp_path, outcome(Phase.CHECK)).sojourn.n == 50


def test_cpu_time_of_a_traced_point_is_that_of_a_request(tmp_path: Path) -> None:
    """3 s of CPU time for 40 requests in 1 s, and 40 more in a warm-up as long."""
    warmed = {**result([1000] * 40, lost=0), "job": {"warmup": "1s"}}
    (tmp_path / "load.json").write_text(json.dumps(warmed))
    host = tmp_path / "host.json"
    host.write_text(json.dumps({"server_cpu_s": 3.0, "length_s": 9.0}))
    measured = measured_of(tmp_path, outcome(Phase.TRACE))
    assert measured.cpu_ns_per_request == 3e9 / 80
    (tmp_path / PROBE).write_text(json.dumps(result([1000] * 20, lost=0)))
    assert measured_of(tmp_path, outcome(Phase.TRACE)).cpu_ns_per_request == 3e9 / 100
    (tmp_path / PROBE).unlink()
    assert [name for name, _ in measured.wire_ns] == ["mean", "p50", "p95", "p99"]
    assert measured.traced is None
    host.write_text(json.dumps({"length_s": 2.0}))
    assert measured_of(tmp_path, outcome(Phase.TRACE)).cpu_ns_per_request is None
    assert measured_of(tmp_path, outcome(Phase.TRACE, requests=0)).wire_ns == ()


def test_who_ran_for_long_without_the_shield_is_a_culprit(tmp_path: Path) -> None:
    seen = [
        {
            "task": task,
            "runs_over_0_3ms_per_s": often,
            "longest_ms": 1.0,
            "cpu_share": 0.1,
            "is_exact": True,
        }
        for task, often in (("short", 0.0), ("seldom", 1.0), ("often", 5.0))
    ]
    (tmp_path / "host.json").write_text(json.dumps({"culprits": seen}))
    measured = measured_of(tmp_path, outcome(Phase.SCHEDULED))
    assert (measured.culprits, measured.sojourn.n) == (("often", "seldom"), 0)


def test_pairs_are_an_object_or_a_list() -> None:
    assert stored._pairs({"a": 1}) == stored._pairs([["a", 1]]) == (("a", "1"),)
    assert stored._pairs(None) == ()


def test_copies_of_points_and_versions_that_share_a_record_are_doubts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = spec.load("max_load_memcached", profile="quick")
    for version in ("9.8.0", "9.9.0"):
        for module in (of_find, resumption, of_record):
            monkeypatch.setattr(module, "__version__", version)
        with store.open(tmp_path, asked, machine="m") as record:
            made = next_point(asked, record.outcomes(), PLANS)
            assert made is not None
            folder = record.folder(made)
            record.add(replace(imagine(made), folder=str(folder)))
    assert list(stored._of_record(record, 2)) == [
        "several versions: points were measured 1 by 9.8.0, 1 by 9.9.0: measure anew with --new"
    ]
    shutil.copytree(folder, folder.with_name(f"{folder.name}-copy"))
    (_, copied) = stored._of_record(store.read(record.path), 2)
    assert copied == (
        f"copied point: {folder.name}-copy is a copy of another point, and does not count"
    )
