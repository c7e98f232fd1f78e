"""Reading a point's folder: numbers, lost requests, dependence, damaged and newer files."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn import samples
from sojourn.errors import StoreFault
from sojourn.plan import Point, Verdict, codec
from sojourn.plan.setting import Setting
from sojourn.samples import dependence, made
from sojourn.samples.contract import load_result
from sojourn.samples.interval import intervals
from sojourn.samples.served import cpu_ns, served
from sojourn.samples.testing_point import first_point


@pytest.fixture
def point() -> Point:
    return first_point()


def test_a_point_survives_its_file(point: Point) -> None:
    setting = Setting.of({"load": 0.125, "tracer": True, "services.s.params.threads": 2})
    full = replace(
        point, offered_rps=1.5, fraction=0.5, setting=setting, overrides=(("a", 1), ("b", "x"))
    )
    for one in (point, full):
        assert codec.from_json(json.loads(codec.dumps(one))) == one


def test_numbers_are_read_and_lost_requests_miss_the_bound(point: Point, tmp_path: Path) -> None:
    times = [1e6] * 90 + [3e6] * 8 + [np.inf] * 2
    job = {"qos_quantile": 0.95, "qos_bound": "2ms"}
    outcome = samples.read(made.put(tmp_path, point, made.result(times, job=job)))
    assert outcome.point == point
    assert (outcome.requests, outcome.lost, outcome.over_bound) == (100, 2, 10)
    assert outcome.p95_ns == 3e6
    assert outcome.p99_ns is None, "rank 99 of 100 is a lost request"
    assert outcome.mean_ns is None, "the mean of lost requests is infinite"


def test_without_a_target_nothing_is_over_it(point: Point, tmp_path: Path) -> None:
    outcome = samples.read(made.put(tmp_path, point, made.result([1e6])))
    assert outcome.over_bound is None


def test_a_failed_self_check_is_carried_with_its_reasons(point: Point, tmp_path: Path) -> None:
    load = made.result([1e6], verdict="unknown", reasons=["client stopped", "late"])
    outcome = samples.read(made.put(tmp_path, point, load))
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.reasons == ("client stopped", "late")


def test_new_keys_of_the_same_major_version_are_ignored(point: Point, tmp_path: Path) -> None:
    load = made.result([1e6], schema="sojourn.load.result/1.7", something_new=1)
    assert samples.read(made.put(tmp_path, point, load)).requests == 1


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"schema": "sojourn.load.result/2"}, "version 2"),
        ({"schema": "other/1"}, "not 'sojourn.load.result/1'"),
        ({"requests": "many"}, "requests"),
        ({"sojourn_ns": {}}, "sojourn_ns"),
        ({"verdict": "maybe"}, "verdict"),
        ({"windows": made.windows([1, 1], [0, 0], disturbed=[2])}, "different windows"),
        ({"windows": made.windows([1, 1], [0, 0], disturbed=[-1])}, "different windows"),
        ({"windows": made.windows([1, 0], [0, 1])}, "k is of the requests of n"),
        ({"windows": made.windows([1, 1], [1, -1])}, "k is of the requests of n"),
        ({"sojourn_ns": {**made.span([1e6]), "hdr": "nonsense"}}, "histogram"),
        (
            {"sojourn_ns": {**made.span([1e6]), "hdr": base64.b64encode(b"\0" * 40).decode()}},
            "histogram",
        ),
    ],
)
def test_what_breaks_the_contract_is_named_with_its_file(
    point: Point, tmp_path: Path, change: dict[str, Any], what: str
) -> None:
    job = {"qos_quantile": 0.95, "qos_bound": "2ms"}
    made.put(tmp_path, point, {**made.result([1e6], job=job), **change})
    with pytest.raises(StoreFault, match=what) as caught:
        samples.read(tmp_path)
    assert "load.json" in caught.value.at
    assert caught.value.fix


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"schema": "sojourn.point/3"}, "version 3"),
        ({"schema": "sojourn.point/0"}, "version 0"),
        ({"setting": None}, "point cannot be read"),
        ({"setting": {"load": [0.5]}}, "point cannot be read"),
        ({"setting": {"a,b": 1}}, "point cannot be read"),
    ],
)
def test_a_point_of_another_version_or_without_its_setting_is_refused(
    point: Point, tmp_path: Path, change: dict[str, Any], what: str
) -> None:
    folder = made.put(tmp_path, point, made.result([1e6]))
    table = codec.to_json(point)
    (folder / "point.json").write_text(json.dumps({**table, "something_new": 1}))
    assert samples.read(folder).point == point
    (folder / "point.json").write_text(json.dumps({**table, **change}))
    with pytest.raises(StoreFault, match=what) as caught:
        samples.read(folder)
    assert "point.json" in caught.value.at


@pytest.mark.parametrize("name", ["point.json", "load.json"])
@pytest.mark.parametrize("content", [None, "", "{", "[]", '{"schema": "sojourn.point/1"}'])
def test_a_missing_or_damaged_file_is_a_fault(
    point: Point, tmp_path: Path, name: str, content: str | None
) -> None:
    folder = made.put(tmp_path, point, made.result([1e6]))
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(StoreFault) as caught:
        samples.read(folder)
    assert name in caught.value.at


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, made.MAX_NS - 1), max_size=200), st.integers(1, made.MAX_NS))
def test_histograms_keep_every_count_to_one_in_a_thousand(times: list[int], bound: int) -> None:
    text = made.hdr([float(t) for t in times])
    packed = base64.b64decode(text)
    plain = base64.b64encode(zlib.decompress(packed[8:])).decode()
    for form in (text, plain):
        result = samples.decode(form, at="test")
        assert result.total == len(times)
        order = np.sort(np.array(times, float))
        low, high = np.repeat(result.lo_ns, result.count), np.repeat(result.hi_ns, result.count)
        assert (low <= order).all()
        assert (order <= high).all()
        assert ((high - low) <= 1e-3 * high).all()
        assert (order > bound).sum() <= result.over(bound) <= (order > bound * 0.998).sum()


def test_nothing_in_a_histogram_is_nothing() -> None:
    assert samples.decode("", at="test").total == 0


def test_the_interval_log_gives_seconds_in_order(tmp_path: Path) -> None:
    assert intervals(tmp_path / "load.hlog") == ()
    made.put_hlog(tmp_path, [[1e6] * 3, [], [2e6]])
    result = intervals(tmp_path / "load.hlog")
    assert [(i.start_s, i.sojourn.total) for i in result] == [(0.0, 3), (1.0, 0), (2.0, 1)]
    (tmp_path / "load.hlog").write_text("Tag=probe,1.0,1.0,0.0,x\n", encoding="utf-8")
    with pytest.raises(StoreFault, match="histogram"):
        intervals(tmp_path / "load.hlog")
    (tmp_path / "load.hlog").write_text("what is this\n", encoding="utf-8")
    with pytest.raises(StoreFault) as caught:
        intervals(tmp_path / "load.hlog")
    assert caught.value.at.endswith("load.hlog:1")


def test_independent_requests_count_in_full() -> None:
    # Variance ratio of 30 batches: sd sqrt(2/29) = 0.26; five sigma above 1 is 2.3.
    times = np.random.default_rng(1).exponential(1e5, 60_000)
    assert 1 <= dependence.of_raw(times, 0.99) < 2.3


def test_requests_that_queue_together_count_less() -> None:
    # Clumps of 50 that share one time: the design effect is the clump's size; sd is 26 %.
    times = np.repeat(np.random.default_rng(2).exponential(1e5, 6_000), 50)
    assert dependence.of_raw(times, 0.99) == pytest.approx(50, rel=1.0)


def test_a_thinned_sample_gives_the_same_ratio_as_all_requests(
    point: Point, tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    times = np.repeat(rng.exponential(1e5, 4_000), 50)
    stored = np.sort(rng.choice(len(times), len(times) // 4, replace=False))
    whole = dependence.of_run(times, (), requests=len(times), q=0.99).ratio
    thinned = dependence.of_run(times[stored], (), requests=len(times), q=0.99).ratio
    assert thinned == pytest.approx(whole, rel=0.5)


def test_dependence_comes_from_the_best_that_was_kept(point: Point, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    times = rng.exponential(1e6, 3_000)
    folder = made.put(tmp_path, point, made.result(times))
    load_result = samples.load_result(folder / "load.json")
    assert "assumed" in samples.correlation(folder, load_result).how
    made.put_hlog(folder, [times[:1000], times[1000:2000] * 30, times[2000:]])
    by_seconds = samples.correlation(folder, load_result)
    assert "3 slices" in by_seconds.how
    assert by_seconds.ratio > 3, "one second has all the misses"
    made.put_raw(folder, times)
    assert "raw requests" in samples.correlation(folder, load_result).how
    made.put_hlog(folder, [times[at::40] for at in range(40)])
    by_slices = samples.correlation(folder, load_result)
    assert "40 slices" in by_slices.how
    assert by_slices.ratio < 2.6, "20 batches of independent times: five sigma is 1 + 5 · 0.32"


def test_raw_requests_come_in_order_and_lost_ones_are_infinite(tmp_path: Path) -> None:
    assert samples.raw_sojourn_ns(tmp_path / "raw.parquet") is None
    times = np.array([5.0, np.inf, 7.0])
    made.put_raw(tmp_path, times)
    result = samples.raw_sojourn_ns(tmp_path / "raw.parquet")
    assert result is not None
    assert result.tolist() == times.tolist()
    made.put_raw(tmp_path, times, np.array([False, False, True]))
    result = samples.raw_sojourn_ns(tmp_path / "raw.parquet")
    assert result is not None
    assert result.tolist() == [5.0, np.inf], "requests in outages of the client do not count"
    (tmp_path / "raw.parquet").write_bytes(b"nonsense")
    with pytest.raises(StoreFault, match="raw requests"):
        samples.raw_sojourn_ns(tmp_path / "raw.parquet")


def test_the_log_of_the_neighbour_that_died_is_named(tmp_path: Path, point: Point) -> None:
    folder = made.put(tmp_path, point, made.result([1e6]))
    second = {"kind": "noise", "died": ["was killed"], "died_log": "neighbour_2-1.log"}
    host = {"neighbour": {"kind": "spin", "died": []}, "neighbour_2": second}
    (folder / "host.json").write_text(json.dumps({"others_on_server_share": 0.0, **host}))
    assert "see neighbour_2-1.log" in "; ".join(samples.read(folder).reasons)


@pytest.mark.parametrize(
    ("saw", "why"),
    [
        ({"died": ["on CPU 1 was killed by SIGKILL"]}, "neighbour died: noise on CPU 1"),
        ({"not_held": "CPU 1: 3 of 10 blocks/s"}, "did not hold its intensity: CPU 1"),
        ({"died": []}, ""),
    ],
)
def test_beside_a_neighbour_that_was_not_as_asked_nothing_is_known(
    tmp_path: Path, point: Point, saw: dict[str, Any], why: str
) -> None:
    folder = made.put(tmp_path, point, made.result([1e6]))
    host = {"others_on_server_share": 0.0, "neighbour": {"kind": "noise", **saw}}
    (folder / "host.json").write_text(json.dumps(host))
    outcome = samples.read(folder)
    assert (outcome.verdict is Verdict.UNKNOWN) == bool(why)
    assert why in "; ".join(outcome.reasons)


@pytest.mark.parametrize(
    ("saw", "why"),
    [({"suspended_s": 60.0}, "suspended for 60.0 s"), ({"clock_set_s": -3600.0}, "by -3600.0 s")],
)
def test_a_load_during_which_the_machine_slept_or_its_time_was_set_is_void(
    tmp_path: Path, point: Point, saw: dict[str, float], why: str
) -> None:
    folder = made.put(tmp_path, point, made.result([1e6]))
    (folder / "host.json").write_text(json.dumps({"others_on_server_share": 0.0, **saw}))
    outcome = samples.read(folder)
    assert outcome.verdict is Verdict.UNKNOWN
    assert why in "; ".join(outcome.reasons)


def test_cpu_time_of_a_request_is_counted_or_not_known(tmp_path: Path) -> None:
    at = tmp_path / "host.json"
    assert cpu_ns(at, 2000.0) is None
    made.put_host(tmp_path, length_s=2.0, server_cpu_s=0.5)
    assert cpu_ns(at, 2000.0) == pytest.approx(250_000)
    assert cpu_ns(at, 0.0) is None
    made.put_host(tmp_path, length_s=2.0, server_cpu_s=0.0)  # of a server that is not the lab's
    assert cpu_ns(at, 2000.0) is None


def test_the_start_and_end_of_the_generator_are_no_time_in_which_requests_came(
    tmp_path: Path, point: Point
) -> None:
    """1,000 requests/s of 100 µs for 0.2 and 1 s, in 1.7 s of the generator's life."""
    job = {"warmup": "200ms", "qos_bound": "", "qos_quantile": 0.0}
    folder = made.put(tmp_path, point, made.result([1e6] * 1000, job=job))
    made.put_host(folder, length_s=1.7, server_cpu_s=0.12)
    assert samples.read(folder).cpu_ns == pytest.approx(100_000)
    assert samples.read(folder).used_cpus == pytest.approx(0.12 / 1.7)


def test_requests_that_are_answered_late_have_taken_cpu_time_too(tmp_path: Path) -> None:
    """Twice what is served: of 2,000 in 1 s 500 are never answered, and the warm-up's 200 are."""
    replies = {"count": 1500, "bytes_mean": 1.0, "bytes_min": 1, "bytes_max": 1}
    job = {"warmup": "100ms"}
    changes = {"offered_rps": 2000.0, "achieved_rps": 950.0, "replies": replies, "job": job}
    table = made.result([1e6] * 2000, **changes)
    (tmp_path / "load.json").write_text(json.dumps(table))
    assert served(load_result(tmp_path / "load.json")) == pytest.approx(1700)
