"""Result files that real tools wrote (`golden/README.md` has each command), whole and damaged."""

from __future__ import annotations

import dataclasses
import math
import random
from pathlib import Path

import pytest

from sojourn import importers
from sojourn.importers import FORMATS, Options, estimates
from sojourn.importers.series import Series
from sojourn.importers.testing import BY_NAME, GOLDEN, SAMPLES, Sample, content, put
from sojourn.samples import made

REFUSED = {"vegeta.bin", "cachecannon-counters.parquet"}  # real files that cannot be read


@BY_NAME
def test_our_numbers_are_those_that_the_tool_printed(one: Sample, tmp_path: Path) -> None:
    form, series = importers.read(put(tmp_path, content(one.name)))
    assert form.name == one.form
    assert len(series) == one.series
    first = series[0]
    assert (first.requests, sum(first.failed.values())) == (one.requests, one.failed)
    assert first.facts.clock == one.clock
    for q, ms in one.printed.items():
        lo, hi = ends(first, q)
        assert lo - one.within * 1e6 <= ms * 1e6 <= hi + one.within * 1e6, (q, ms, lo, hi)
        assert ms, "a printed 0 checks nothing"


def ends(series: Series, q: float | None) -> tuple[float, float]:
    """Where a quantile of the file's own data lies: between two requests, or in a bin, ns."""
    times = series.times
    if times is None:
        return series.stated[q], series.stated[q]
    if q is None:
        moments = times.moments()
        assert moments
        wide = sum((times.hi_ns - times.lo_ns) * times.count) / times.n / 2
        return moments[0] - wide, moments[0] + wide
    rank = q * times.n
    return times.at_rank(max(1, int(rank)))[0], times.at_rank(min(times.n, int(rank) + 1))[1]


def test_every_format_has_a_sample_and_every_file_is_read() -> None:
    assert {one.form for one in SAMPLES} | {"vegeta-bin"} == set(FORMATS)
    stored = {path.name.removesuffix(".gz") for path in GOLDEN.iterdir()}
    assert stored - {"README.md", *REFUSED} == {one.name for one in SAMPLES}
    commands = (GOLDEN / "README.md").read_text()
    assert [name for name in stored - {"README.md"} if f"`{name}`" not in commands] == []


@BY_NAME
def test_each_file_is_recognised_by_one_format_alone(one: Sample) -> None:
    head = content(one.name)[:4096].decode(errors="replace")
    assert [form.name for form in FORMATS.values() if form.is_it(head)] == [one.form]


def test_failures_are_counted_apart_and_are_in_no_quantile(tmp_path: Path) -> None:
    rows = [
        f'{{"latency":{ns},"bytes_out":0,"code":{code},"timestamp":"2026-01-01T00:00:00Z"}}'
        for code, ns in [(200, 1000)] * 200 + [(503, 9)] * 300
    ]
    _, (series,) = importers.read(put(tmp_path, "\n".join(rows).encode()))
    assert (series.requests, series.failed) == (200, {"status 503": 300})
    assert {one.value for one in estimates.of(series) if one.value} == {1000.0}


def test_a_number_is_given_only_as_far_as_the_data_carries_it(tmp_path: Path) -> None:
    _, (series,) = importers.read(put(tmp_path, content("vegeta.json")))
    results = {one.q: one for one in estimates.of(series)}
    assert results[0.5].value
    assert results[0.5].interval
    assert results[0.99].value is None
    assert "p99 needs" in results[0.99].refused
    _, (printed,) = importers.read(put(tmp_path, content("wrk.txt")))
    of_wrk = {one.q: one for one in estimates.of(printed)}
    assert of_wrk[0.99].value == pytest.approx(4.52e6)
    assert of_wrk[0.99].interval is None
    assert of_wrk[0.999].value is None


def test_dependence_between_requests_widens_the_interval(tmp_path: Path) -> None:
    """The same times, in bursts and shuffled: only the order differs."""
    ns = [1000 + number for number in range(900)] * 2 + [50_000] * 200
    spread = [*ns]
    random.Random(1).shuffle(spread)  # noqa: S311 - no secret
    width = []
    for times in (ns, spread):
        rows = [f"{1795684512000000 + n}\t200\t{us}" for n, us in enumerate(times)]
        _, (series,) = importers.read(put(tmp_path, "\n".join(rows).encode() + b"\n"))
        result = next(one for one in estimates.of(series) if one.q == 0.5)
        assert result.interval
        width.append(result.interval.hi - result.interval.lo)
    assert width[0] > 2 * width[1]


def test_the_unit_of_a_log_without_one_can_be_given(tmp_path: Path) -> None:
    path = put(tmp_path, content("hdr-java.hlog"))
    (plain, _), (scaled, _) = (
        importers.read(path, options=Options(unit_ns=unit))[1] for unit in (None, 1e3)
    )
    assert "unit" in plain.notes[0]
    assert not scaled.notes
    assert scaled.most_ns == 1e3 * (plain.most_ns or 0)


def test_failed_requests_of_our_own_log_are_infinitely_slow(tmp_path: Path) -> None:
    """They stand in it as one hour, because the format knows no infinity."""
    packed = made.hdr([1000.0] * 900 + [3.6e12] * 100)
    head = "#[sojourn times, ns; failed requests as one hour; Tag=all: outages included]"
    path = put(tmp_path, f"{head}\n0.000,1.000,1.000,{packed}\n".encode())
    _, (series,) = importers.read(path)
    assert (series.requests, sum(series.failed.values())) == (900, 100)
    results = {one.q: one.value for one in estimates.of(series)}
    assert results[0.5] == pytest.approx(1000, rel=0.001)
    assert results[0.95] == math.inf
    assert results[None] is None


def test_the_interval_of_a_mean_has_the_width_of_its_bins(tmp_path: Path) -> None:
    """The times of a bin may all be at one edge of it."""
    bins = '[{"Start":0.001,"End":0.002,"Count":400},{"Start":0.002,"End":0.003,"Count":600}]'
    text = (
        f'{{"DurationHistogram":{{"Count":1000,"Sum":2,"Max":0.003,"Data":{bins}}},'
        '"ActualDuration":1000000000,"RetCodes":{"200":1000}}'
    )
    _, (series,) = importers.read(put(tmp_path, text.encode()), "fortio")
    mean = estimates.of(dataclasses.replace(series, stated={}))[0]
    assert mean.value == pytest.approx(2.1e6)
    assert mean.interval
    assert mean.interval.lo < 1.6e6
    assert mean.interval.hi > 2.6e6
    assert mean.interval.hi - mean.interval.lo < 1.1e6
