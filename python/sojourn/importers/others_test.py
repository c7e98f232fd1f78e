"""Results that are not read are named; none of them passes for another."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import importers
from sojourn.errors import SpecFault
from sojourn.importers import FORMATS, others
from sojourn.importers.testing import BY_NAME, Sample, content, put

# The first lines of each, as the tool wrote them.
WRITTEN = {
    "hey": "\nSummary:\n  Total:\t1.0075 secs\n  Slowest:\t0.1227 secs\n",
    "ghz": "\nSummary:\n  Count:\t60\n  Total:\t12.00 ms\n",
    "k6": "\n  █ TOTAL RESULTS \n\nhttp_req_duration..............: avg=5.25ms min=111µs\n",
    "vegeta": "Requests      [total, rate, throughput]         1000, 200.21, 180.02\n",
    "memtier": "2         Threads\n\n\nALL STATS\n====\nType         Ops/sec     Hits/sec\n",
    "fortio": "Fortio 1.60.3 running at 8 queries per second\nAggregated Function Time : count 4\n",
    "pgbench": "pgbench (15.18)\ntransaction type: <builtin: select only>\nscaling factor: 1\n",
    "ab": "This is ApacheBench, Version 2.3 <$Revision: 1903618 $>\n",
    "bombardier": "Statistics        Avg      Stdev        Max\n  Reqs/sec      3607.05\n",
    "Locust": "Type,Name,Request Count,Failure Count,Median Response Time\n",
    "JMeter": "timeStamp,elapsed,label,responseCode\n1,2,a,200\n",
    "artillery": '{\n  "aggregate": {\n    "counters": {\n      "vusers.created": 60\n    }}}\n',
    "HdrHistogram": "       Value     Percentile TotalCount 1/(1-Percentile)\n\n",
}
REPORTS = [  # of vegeta, of kind `hist` and `hdrplot`
    ("vegeta", "Bucket         #    %        Histogram\n[0s,     1ms]  57   95.00%   ####\n"),
    ("HdrHistogram", "Value(ms)  Percentile  TotalCount  1/(1-Percentile)\n0.111 0.000000 1 1\n"),
]
AUTOCANNON = "Running 3s test @ http://127.0.0.1:18080/mix\n10 connections\n\n\n┌─────────┐\n"


@pytest.mark.parametrize(("tool", "text"), [*WRITTEN.items(), ("autocannon", AUTOCANNON), *REPORTS])
def test_a_result_that_is_not_read_is_named_with_what_to_do(
    tool: str, text: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecFault, match=tool) as caught:
        importers.read(put(tmp_path, text.encode()))
    assert "not read" in caught.value.what
    assert "--format: " not in caught.value.fix


def test_autocannon_is_not_taken_for_wrk() -> None:
    """Both begin with the same words, and wrk's reader called the text cut short."""
    assert [form.name for form in FORMATS.values() if form.is_it(AUTOCANNON)] == []


@BY_NAME
def test_no_file_that_is_read_looks_like_one_of_them(one: Sample) -> None:
    assert others.of(content(one.name)[:4096].decode(errors="replace")) is None
