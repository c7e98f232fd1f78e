"""Results that are not read: of which tool each is, and what would be read.

A printed text mostly has too few digits, or the tool has a better file. Where no file of a tool
can be read, the referee can watch its load.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_JUDGE = "watch its load with `sudo sojourn judge --port N -- COMMAND`"


@dataclass(frozen=True, slots=True)
class Other:
    """A result that is not read.

    Attributes:
        what: it is, and of which tool.
        fix: which file of the same tool to open.
        looks_like: its first bytes.
    """

    what: str
    fix: str
    looks_like: re.Pattern[str]


def _other(what: str, fix: str, pattern: str) -> Other:
    return Other(what, fix, re.compile(pattern))


OTHERS = (
    _other("what hey prints", "run `hey -o csv`, and open that", r"\s*Summary:\n  Total:\t"),
    _other("what ghz prints", "run `ghz --format json`", r"\s*Summary:\n  Count:\t"),
    _other(
        "what k6 prints", "run `k6 run --out json=FILE`", r"(?s:.*)\bhttp_req_duration\.+: avg="
    ),
    _other(
        "what vegeta reports as text",
        "run `vegeta encode --output FILE RESULTS`",
        r"Requests +\[total, rate, throughput\]|Bucket +# +% +Histogram",
    ),
    _other(
        "what memtier prints",
        "run `memtier_benchmark --json-out-file FILE`",
        r"(?s:.*)Type +Ops/sec +",
    ),
    _other(
        "what fortio prints", "run `fortio load -json FILE`", r"(?s:.*)Aggregated Function Time"
    ),
    _other("what pgbench prints", "run `pgbench --log`", r"(?s:.*)\btransaction type: .*\nscal"),
    _other("what ab prints", _JUDGE, r"This is ApacheBench"),
    _other("a result of autocannon", _JUDGE, r"Running .* test @ .*\n\d+ connections"),
    _other("a result of autocannon", _JUDGE, r'\{[^{}]*"sampleInt":[^{}]*"pipelining":'),
    _other("a result of bombardier", _JUDGE, r"(?s:.*)Statistics +Avg +Stdev +Max\n +Reqs/sec"),
    _other("a result of bombardier", _JUDGE, r'\s*\{"spec":\{"numberOfConnections":'),
    _other("a table of Locust", _JUDGE, r'"?(Type|Timestamp)"?,("?User Count"?,)?"?(Type|Name)"?,'),
    _other("a result of JMeter", _JUDGE, r"timeStamp,elapsed,|<\?xml .*\n?<testResults"),
    _other("a report of artillery", _JUDGE, r'\{\s*"aggregate":(?s:.*)"vusers\.created'),
    _other(
        "a table of percentiles of HdrHistogram",
        "let the tool write an interval log, which has whole histograms",
        r"\s*Value(\(\w+\))? +Percentile +TotalCount",
    ),
)


def of(head: str) -> Other | None:
    """The result that first bytes look like; None: no known one."""
    return next((one for one in OTHERS if one.looks_like.match(head)), None)
