"""What the HTTP tools that people use print, and how the bench reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

HEY = """\
Summary:
  Total:	2.0083 secs
  Average:	0.0040 secs
  Requests/sec:	99.5891

Latency distribution:
  50%% in 0.0027 secs
  75%% in 0.0033 secs
  99%% in 0.0336 secs
"""
BOMBARDIER = """\
Statistics        Avg      Stdev        Max
  Reqs/sec       101.56      21.59     201.99
  Latency        1.19ms     1.55ms    20.41ms
  Latency Distribution
     50%     0.85ms
     99%     4.60ms
"""
OHA = json.dumps(
    {
        "summary": {"requestsPerSec": 99.9},
        "latencyPercentiles": {"p50": 0.0011, "p99": 0.0042},
    }
)
AUTOCANNON = "Running 2s test\n" + json.dumps(
    {"latency": {"p50": 453, "p99": 926}, "requests": {"average": 54.5}}
)
LOCUST = """\
[2026-11-29 16:44:26] INFO/locust.main: Starting Locust
[
    {
        "name": "/4k",
        "last_request_timestamp": 102.0,
        "start_time": 100.0,
        "num_requests": 200,
        "response_times": {"11": 4, "3": 196}
    }
]
Type     Name  # reqs
"""


@pytest.fixture
def people(bench_modules: Any) -> Any:
    """The module that calls and reads these tools."""
    return bench_modules("")("wire.people")


@pytest.mark.parametrize(
    ("reader", "text", "rps", "p50_us", "p99_us"),
    [
        ("of_hey", HEY, 99.5891, 2_700, 33_600),
        ("of_bombardier", BOMBARDIER, 101.56, 850, 4_600),
        ("of_oha", OHA, 99.9, 1_100, 4_200),
        ("of_autocannon", AUTOCANNON, 54.5, 453_000, 926_000),
        ("of_locust", LOCUST, 100, 3_000, 11_000),
    ],
)
def test_words_of_a_tool_are_read_as_it_means_them(
    people: Any, reader: str, text: str, rps: float, p50_us: float, p99_us: float
) -> None:
    reading = getattr(people, reader)(text, Path())
    assert reading.rps == pytest.approx(rps)
    assert (reading.p50_us, reading.p99_us) == (pytest.approx(p50_us), pytest.approx(p99_us))


def test_k6_writes_its_summary_in_milliseconds(people: Any, tmp_path: Path) -> None:
    times = {"p(50)": 0.747, "p(99)": 3.778}
    metrics = {"http_reqs": {"count": 201, "rate": 100.35}, "http_req_duration": times}
    (tmp_path / "summary.json").write_text(json.dumps({"metrics": metrics}))
    reading = people.of_k6("", tmp_path)
    assert (reading.rps, reading.p50_us, reading.p99_us) == (100.35, 747, 3778)
