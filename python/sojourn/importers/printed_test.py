"""What wrk, wrk2, h2load and vegeta print of slow and failed requests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sojourn import importers
from sojourn.errors import SpecFault
from sojourn.importers import estimates, h2load
from sojourn.importers.series import Series
from sojourn.importers.testing import content, put

SLOW = b"""Running 10s test @ http://127.0.0.1:8080/
  2 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.20s   310.09ms    1.99s    71.22%
    Req/Sec     4.12      3.20    20.00     80.11%
  Latency Distribution
     50%  980.12ms
     75%    1.33s\x20
     90%    1.61s\x20
     99%    1.95s\x20
  6120 requests in 10.01s, 1.20MB read
  Socket errors: connect 0, read 0, write 0, timeout 120
  Non-2xx or 3xx responses: 300
Requests/sec:    611.39
Transfer/sec:    122.76KB
"""
NONE = b"""Running 2s test @ http://127.0.0.1:9/
  1 threads and 2 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     0.00us    0.00us   0.00us    -nan%
    Req/Sec     0.00      0.00     0.00      -nan%
  Latency Distribution
     50%    0.00us
     75%    0.00us
     90%    0.00us
     99%    0.00us
  0 requests in 2.00s, 0.00B read
  Socket errors: connect 2, read 0, write 0, timeout 0
Requests/sec:      0.00
Transfer/sec:       0.00B
"""
FAILED = b"""starting benchmark...
spawning thread #0: 100 total client(s). 99420 total requests
Application protocol: h2c

finished in 11.03s, 9711.00 req/s, 772.10KB/s
requests: 99420 total, 99999 started, 99420 done, 90115 succeeded, 9305 failed, 2310 errored, 2312 timeout
status codes: 90115 2xx, 0 3xx, 6995 4xx, 0 5xx
traffic: 7.54MB (7906295) total, 4.32MB (4529697) headers (space savings 57.56%), 1.54MB (1619718) data
                     min         max         mean         sd        +/- sd
time for request:      158us     17.80ms       946us       481us    81.73%
time for connect:      160us     15.78ms      3.94ms      2.56ms    70.00%
time to 1st byte:    15.39ms     28.06ms     20.01ms      3.30ms    68.00%
req/s           :      96.04       98.38       97.08        0.50    67.00%
"""  # noqa: E501 - a tool's own lines
NEWER = b"""starting benchmark...
Application protocol: h2c

finished in 2.00s, 308330.00 req/s, 36.18MB/s
requests: 616660 total, 616664 started, 616660 done, 616660 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 616660 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 72.36MB (75876095) total, 2.94MB (3083764) headers (space savings 95.57%), 53.52MB (56116060) data
                 min         max         median      p95         p99         mean        sd         +/- sd
request     :        7us       461us        10us        15us        20us        11us         3us    93.62%
connect     :       78us        97us        88us        97us        97us        88us         7us    50.00%
TTFB        :      258us       292us       275us       292us       292us       275us        16us    50.00%
req/s       :   63730.60    86812.79    78887.39    86812.79    86812.79    77079.54    11473.74    75.00%
"""  # noqa: E501 - a tool's own lines


def only(data: bytes, folder: Path) -> Series:
    _, (series,) = importers.read(put(folder, data))
    return series


def test_percentiles_of_a_second_and_more_are_read(tmp_path: Path) -> None:
    """wrk puts a blank behind a unit of one letter, at the end of the line."""
    series = only(SLOW, tmp_path)
    wanted = {0.5: 980.12e6, 0.75: 1.33e9, 0.9: 1.61e9, 0.99: 1.95e9, None: 1.2e9}
    assert dict(series.stated) == pytest.approx(wanted)
    assert not any("--latency" in note for note in series.notes)
    results = {one.q: one.value for one in estimates.of(series)}
    assert results[0.99] == pytest.approx(1.95e9)


def test_a_distribution_that_cannot_be_read_is_not_called_missing(tmp_path: Path) -> None:
    torn = b"\n".join(line for line in SLOW.splitlines() if not line.startswith(b"     "))
    with pytest.raises(SpecFault, match="distribution has no line"):
        only(torn, tmp_path)


def test_late_replies_of_wrk_are_counted_once(tmp_path: Path) -> None:
    """wrk counts them among its requests, too, and drops their times."""
    series = only(SLOW, tmp_path)
    assert series.failed == {"timeout": 120, "status not 2xx or 3xx": 300}
    assert series.requests == 6120 - 120 - 300
    assert series.stated_over == 6000, "its percentiles have replies with another status"
    late = SLOW.replace(b"6120 requests", b"120 requests")
    alone = only(late.replace(b"responses: 300", b"responses: 0"), tmp_path)
    assert (alone.requests, alone.most_ns) == (0, None)
    assert {one.refused for one in estimates.of(alone)} == {estimates.NONE}


def test_timeouts_of_wrk2_are_no_failed_requests(tmp_path: Path) -> None:
    """wrk2 counts a connection each time that it looks, and its histogram has the slow reply."""
    line = b"  Socket errors: connect 0, read 3, write 0, timeout 40\nRequests/sec"
    data = content("wrk2.txt").replace(b"Requests/sec", line)
    series = only(data, tmp_path)
    assert series.failed == {"read": 3}
    assert series.requests == 2401
    assert any("40 timeouts" in note for note in series.notes)


def report(requests: int) -> bytes:
    """What `vegeta report -type=json` writes of an attack without a request."""
    return (
        b'{"latencies":{"total":0,"mean":0,"50th":0,"90th":0,"95th":0,"99th":0,"max":0,"min":0},'
        b'"bytes_in":{"total":0,"mean":0},"bytes_out":{"total":0,"mean":0},'
        b'"earliest":"0001-01-01T00:00:00Z","latest":"0001-01-01T00:00:00Z",'
        b'"end":"0001-01-01T00:00:00Z","duration":0,"wait":0,"requests":%d,"rate":0,'
        b'"throughput":0,"success":0,"status_codes":{},"errors":[]}\n' % requests
    )


def test_zeros_that_are_printed_of_no_request_are_no_times(tmp_path: Path) -> None:
    h2load = FAILED.replace(b"90115 succeeded, 9305", b"0 succeeded, 99420")
    h2load = h2load.replace(b"2310 errored", b"99420 errored")
    empty_wrk2 = NONE.replace(b"    0.00us    0.00us   0.00us", b"   -nanus    0.00us   0.00us", 1)
    empty_wrk2 = empty_wrk2.replace(
        b"  Latency Distribution\n", b"  Latency Distribution (HdrHistogram - Recorded Latency)\n"
    )
    for data in (NONE, empty_wrk2, report(0), h2load):
        series = only(data, tmp_path)
        assert (series.requests, series.most_ns) == (0, None)
        results = estimates.of(series)
        assert [one.value for one in results] == [None] * len(results)
        assert {estimates.basis(series, one) for one in results} == {estimates.NONE}
    assert only(report(1), tmp_path).stated[None] == 0, "what a request took is shown"


def test_a_failure_of_h2load_is_counted_once(tmp_path: Path) -> None:
    """A timeout is among its errors, an error among the failed (`h2load --help`)."""
    series = only(FAILED, tmp_path)
    assert series.failed == {"status not 2xx or 3xx": 6995, "timeout": 2310}
    assert (series.requests, sum(series.failed.values())) == (90115, 9305)
    assert series.stated_over == 90115 + 6995, "its mean has replies with another status"
    assert series.seconds == pytest.approx(10, rel=1e-4), "it took 11.03 s, of which -D has 10"
    assert series.rate == pytest.approx(9011.5, rel=1e-4)
    assert any("took 11 s and counts 10 s" in note for note in series.notes)
    plain = only(FAILED.replace(b"2312 timeout", b"10 timeout"), tmp_path)
    assert plain.failed == {"status not 2xx or 3xx": 6995, "errored": 2300, "timeout": 10}


def test_percentiles_of_newer_versions_of_h2load_are_read(tmp_path: Path) -> None:
    series = only(NEWER, tmp_path)
    wanted = {0.5: 10e3, 0.95: 15e3, 0.99: 20e3, None: 11e3}
    assert dict(series.stated) == pytest.approx(wanted)
    assert (series.most_ns, series.requests) == (461e3, 616660)
    assert series.notes == (
        "h2load printed times in steps of 1 µs, so short ones have few digits, or none.",
    )
    nothing = only(NEWER.replace(b"10us        15us", b" 0us        15us"), tmp_path)
    assert 0.5 not in nothing.stated
    slower = re.sub(rb"\b(\d+)us", rb"\g<1>.25ms", NEWER)
    assert only(slower, tmp_path).notes == ()


def test_numbers_of_more_requests_than_h2load_stores_are_of_a_sample(tmp_path: Path) -> None:
    series = only(NEWER.replace(b" 616660 succeeded", b" 2616660 succeeded"), tmp_path)
    assert (series.requests, series.stated_over) == (2616660, h2load.SAMPLE_MOST)
    assert series.most_ns is None
    assert any("at random" in note for note in series.notes)


MCPERF = b"""#type       avg     std     min      p5     p10     p50     p67     p75     p80     p85     p90     p95     p99    p999   p9999
read       62.2    24.1    54.7    59.1    59.4    61.5    62.3    62.8    63.0    63.3    63.5    63.8    68.8    80.2  1012.5
update      0.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0     0.0
op_q        1.0     0.0     1.0     1.0     1.0     1.0     1.1     1.1     1.1     1.1     1.1     1.1     1.1     1.1     1.1

Total QPS = 16082.2 (80411 / 5.0s)

Misses = 0 (0.0%)
Skipped TXs = 0 (0.0%)
"""  # noqa: E501 - a tool's own lines


def test_a_number_of_mcperf_is_named_by_its_head(tmp_path: Path) -> None:
    """It has more columns than mutilate: by place, p50 would be p90 and p75 p99."""
    form, (series,) = importers.read(put(tmp_path, MCPERF))
    assert (form.name, series.requests) == ("mutilate", 80411)
    wanted = {0.5: 61.5e3, 0.9: 63.5e3, 0.99: 68.8e3, 0.999: 80.2e3, 0.9999: 1012.5e3, None: 62.2e3}
    assert {q: series.stated[q] for q in wanted} == pytest.approx(wanted)
    head, row, *_ = MCPERF.splitlines()
    scan = b"\n".join([head + b"      QPS   target", row + b"  16082.2    16000", b""])
    _, (scanned,) = importers.read(put(tmp_path, scan))
    assert (scanned.name, scanned.rate) == ("read at 16,000/s", 16082.2)
    assert scanned.stated[0.99] == pytest.approx(68.8e3)
    for torn in (MCPERF.replace(b"   p67", b""), MCPERF.replace(head, b"#type")):
        with pytest.raises(SpecFault, match="head"):
            importers.read(put(tmp_path, torn), "mutilate")


def test_a_percentile_of_reads_needs_as_many_requests_as_there_are(tmp_path: Path) -> None:
    """Of reads and updates mutilate prints one number, which neither is above."""
    few = content("mutilate-both.txt").replace(b"(803 /", b"(500 /")
    for data, has_p99 in ((content("mutilate-both.txt"), True), (few, False)):
        _, (reads, _) = importers.read(put(tmp_path, data))
        p99 = next(one for one in estimates.of(reads) if one.q == 0.99)
        assert (p99.value is not None) == has_p99
        assert reads.requests is None


def test_percentiles_of_vegetas_report_are_estimates(tmp_path: Path) -> None:
    series = only(content("vegeta-report.json"), tmp_path)
    assert "t-digest" in series.notes[-1]
    assert "closed" in series.facts.loop, "as with -rate 0, of which no file has a word"


def test_the_length_of_vegetas_report_has_the_wait_for_the_last_reply(tmp_path: Path) -> None:
    """Its rate has that wait, so a length without it gave another number of requests."""
    text = """{ "latencies": {"total": 9, "mean": 9, "50th": 9, "99th": 9, "max": 9, "min": 9},
    "bytes_in": {"total": 0, "mean": 0}, "bytes_out": {"total": 0, "mean": 0},
    "duration": 4000000000, "wait": 6000000000, "requests": 1000, "rate": 250,
    "throughput": 100, "success": 1, "status_codes": {"200": 1000}, "errors": []}"""
    form, (series,) = importers.read(put(tmp_path, text.encode()))
    assert form.name == "vegeta-report", "also as jq prints it"
    assert (series.requests, series.seconds, series.rate) == (1000, 10.0, 100.0)


@pytest.mark.parametrize(
    ("requests", "length", "rate", "seconds"),
    [
        (b"1", b"30.10s", b"0.03", 30.1),  # 1 / 0.03 is 33 s
        (b"45", b"1.00m", b"0.75", 60.0),
        (b"61139", b"1.00m", b"1012.34", 60.3937),
        (b"6120", b"10.01s", b"611.39", 10.00998),
        (b"6120", b"10.01s", b"400.00", 15.3),  # of other seconds than those that it printed
    ],
)
def test_a_length_is_that_of_the_number_with_more_digits(
    requests: bytes, length: bytes, rate: bytes, seconds: float, tmp_path: Path
) -> None:
    text = SLOW.replace(b"6120 requests in 10.01s", requests + b" requests in " + length)
    text = text.replace(b"   611.39", rate).replace(b"timeout 120", b"timeout 0")
    text = text.replace(b"responses: 300", b"responses: 0")
    assert only(text, tmp_path).seconds == pytest.approx(seconds, rel=1e-5)


def test_the_rate_of_h2load_is_the_one_that_it_printed(tmp_path: Path) -> None:
    text = NEWER.replace(b"2.00s, 308330.00", b"2.00s, 307101.59")
    assert only(text, tmp_path).rate == pytest.approx(307101.59)


OHA = b"""Summary:
  Success rate:\t100.00%
  Total:\t10.0027 secs
  Slowest:\t0.0213 secs
  Fastest:\t0.0000 secs
  Average:\tMEAN
  Requests/sec:\t1000.0300

Response time distribution:
  50.00% in MIDDLE
  90.00% in 0.0005 secs
  99.00% in 0.0213 secs

Details (average, fastest, slowest):

Status code distribution:
  [200] 10006 responses
"""


def test_a_time_of_oha_that_was_rounded_to_nothing_is_none(tmp_path: Path) -> None:
    """Up to 1.4 it printed seconds with four decimals: 40 µs are 0.0000 secs."""
    old = OHA.replace(b"MEAN", b"0.0000 secs").replace(b"MIDDLE", b"0.0000 secs")
    series = only(old, tmp_path)
    assert dict(series.stated) == pytest.approx({0.9: 5e5, 0.99: 21.3e6})
    assert "in steps of 100 µs" in series.notes[-1]
    newer = OHA.replace(b"MEAN", b"41.1234 us").replace(b"MIDDLE", b"40.1234 us")
    newer = newer.replace(b"0.0005 secs", b"0.5012 ms")
    series = only(newer, tmp_path)
    assert (series.stated[0.5], series.stated[None]) == pytest.approx((40123.4, 41123.4))
    assert series.notes == ()
