"""What the benches of HTTPS, HTTP/2, gRPC and PostgreSQL read, reckon and take for true."""

# ruff: noqa: E501 - what tools write is left as it is, but for blanks at the ends of lines

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

NOWHERE = Path()

FORTIO = """\
Fortio 1.63.10 running at 5000 queries per second, 1->1 procs, for 1s: https://127.0.0.1:52411/4k
Aggregated Sleep Time : count 864 avg -0.017638011 +/- 0.1404 min -1.03949536 max 0.002871143 sum -15.2392419
# range, mid point, percentile, count
>= -1.0395 <= -0.001 , -0.520248 , 8.56, 74
> -0.001 <= 0 , -0.0005 , 11.11, 22
> 0 <= 0.001 , 0.0005 , 18.63, 65
> 0.001 <= 0.002 , 0.0015 , 39.12, 177
> 0.002 <= 0.00287114 , 0.00243557 , 100.00, 526
# target 50% 0.00215568
WARNING 8.56% of sleep were falling behind
Aggregated Function Time : count 864 avg 0.020000955 +/- 0.1404 min 0.00013886 max 1.042437656 sum 17.2808248
# target 50% 0.000643828
# target 99% 1.01952
Error cases : count 0 avg 0 +/- 0 min 0 max 0 sum 0
Sockets used: 16 (for perfect keepalive, would be 16)
Uniform: false, Jitter: false, Catchup allowed: true
Code 200 : 864 (100.0 %)
All done 864 calls (plus 16 warmup) 20.001 ms avg, 712.4 qps
"""
FORTIO_HEALTH = """\
Fortio 1.63.10 running at 50 queries per second, 2->2 procs, for 1s: 127.0.0.1:42357
Aggregated Function Time : count 48 avg 0.069890466 +/- 0.05843 min 0.000792627 max 0.147662162 sum 3.35474237
# target 50% 0.06
# target 99% 0.147137
Error cases : count 0 avg 0 +/- 0 min 0 max 0 sum 0
Jitter: false
Health SERVING : 48
All done 48 calls (plus 2 warmup) 69.890 ms avg, 46.0 qps
"""
H2LOAD = """\
Main benchmark duration is over for thread #0. Stopping all clients.
Stopped all clients for thread #0

finished in 1.00s, 248.00 req/s, 1.00MB/s
requests: 248 total, 376 started, 248 done, 248 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 248 2xx, 0 3xx, 0 4xx, 0 5xx
                     min         max         mean         sd        +/- sd
time for request:     2.05ms    362.98ms    223.53ms    119.29ms    56.45%
req/s           :       7.99       23.97       15.47        7.42    18.75%
"""
GHZ = """\
Summary:
  Count:	50
  Total:	1.02 s
  Slowest:	121.82 ms
  Fastest:	0.47 ms
  Average:	22.76 ms
  Requests/sec:	48.87

Response time histogram:
  0.470 [1]	|∎∎
  12.604 [24]	|∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎∎

Latency distribution:
  10 % in 0.56 ms
  25 % in 3.56 ms
  50 % in 12.51 ms
  75 % in 26.87 ms
  90 % in 67.72 ms
  95 % in 86.70 ms
  99 % in 121.82 ms

Status code distribution:
  [OK]            49 responses
  [Unavailable]   1 responses
"""
PGBENCH = """\
pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: select.sql
query mode: prepared
number of clients: 2
duration: 1 s
number of transactions actually processed: 30
latency average = 49.222 ms
rate limit schedule lag: avg 24.964 (max 127.929) ms
initial connection time = 267.562 ms
tps = 38.739619 (without initial connection time)
"""


@pytest.fixture
def bench(bench_modules: Any) -> Any:
    """A module of `bench/` by its name."""
    return bench_modules("")


@pytest.mark.parametrize(
    ("tool", "text", "rps", "p50_us", "p99_us"),
    [
        ("fortio", FORTIO, 712.4, 643.828, 1_019_520.0),
        ("fortio", FORTIO_HEALTH, 46.0, 60_000.0, 147_137.0),
        ("h2load", H2LOAD, 248.0, None, None),
        ("ghz", GHZ, 48.87, 12_510.0, 121_820.0),
        ("pgbench", PGBENCH, 38.739619, None, None),
    ],
)
def test_words_of_a_tool_are_read_as_it_means_them(
    bench: Any, tool: str, text: str, rps: float, p50_us: float | None, p99_us: float | None
) -> None:
    reading = getattr(bench("wire.tools"), tool)(text, NOWHERE)
    times = [None if wanted is None else pytest.approx(wanted) for wanted in (p50_us, p99_us)]
    assert [reading.rps, reading.p50_us, reading.p99_us] == [rps, *times]


def test_words_without_a_number_are_no_reading(bench: Any) -> None:
    for tool in ("fortio", "h2load", "ghz", "pgbench"):
        with pytest.raises((ValueError, IndexError)):
            getattr(bench("wire.tools"), tool)("connection refused", NOWHERE)


def test_gatling_is_read_from_its_log_and_a_failed_request_is_no_reply(
    bench: Any, tmp_path: Path
) -> None:
    lines = ["RUN\tLoad\tload\t1000\t \t3.9.5", "USER\tload\tSTART\t1000"]
    lines += [f"REQUEST\t\tget\t{1000 + 10 * k}\t{1001 + 10 * k}\tOK\t " for k in range(100)]
    lines += ["REQUEST\t\tget\t1995\t2000\tOK\t ", "REQUEST\t\tget\t1000\t9000\tKO\ttimed out"]
    folder = tmp_path / "load-20261130020300869"
    folder.mkdir()
    (folder / "simulation.log").write_text("\n".join(lines) + "\n")
    reading = bench("wire.people").of_gatling("", tmp_path)
    assert [reading.rps, reading.p50_us, reading.p99_us] == [101.0, 1e3, 1e3]
    (folder / "simulation.log").write_text("\n".join(lines[:2]))
    with pytest.raises(ValueError, match="empty"):
        bench("wire.people").of_gatling("", tmp_path)


def test_every_protocol_has_ours_and_a_peer_at_each_of_its_loads(bench: Any) -> None:
    tools, cases = bench("wire.tools").TOOLS, bench("wire_cost").CASES
    for case in cases:
        part = [
            tool.name
            for tool in tools
            if case.protocol in tool.protocols
            and (tool.has_peak if case.rate_rps is None else tool.has_rate)
        ]
        ours = [name for name in part if name.startswith(bench("summary").OURS)]
        assert ours, case.name
        assert len(part) > len(ours), case.name


def test_the_middle_half_leaves_out_start_and_end(bench: Any) -> None:
    measure = bench("measure")
    # 4 s, four looks a second; 1 s of CPU time at the start, 0.1 s a second then, 2 s at the end.
    spent = [0.0] + [1.0 + 0.1 * n / 4 for n in range(1, 16)] + [3.5]
    looks = [
        measure.Look(at_s=n / 4, cpu_s=cpu, user_s=0, requests=0, server_s=0, used_s=0, own_s=0)
        for n, cpu in enumerate(spent)
    ]
    middle = measure.in_the_middle(looks)
    assert middle.at_s == pytest.approx(2.0)
    assert middle.cpu_s == pytest.approx(0.2)


def test_load_that_is_never_usual_is_no_reading(bench: Any) -> None:
    measure = bench("measure")
    looks = [measure.Look(n, n, 0, seen, 0, 0, 0) for n, seen in enumerate((0, 6_000, 36_000))]
    with pytest.raises(RuntimeError, match="uneven"):
        measure.under_load(looks)


@pytest.mark.parametrize("looks", [0, 1, 3])
def test_too_few_looks_have_no_middle(bench: Any, looks: int) -> None:
    measure = bench("measure")
    with pytest.raises(RuntimeError):
        measure.in_the_middle([measure.Look(n, n, 0, 0, 0, 0, 0) for n in range(looks)])


def test_a_process_is_read_by_its_own_clock(bench: Any) -> None:
    cpu_s = bench("measure").cpu_s
    before = time.process_time()
    own = cpu_s(os.getpid())
    assert before <= own <= time.process_time()


def test_a_process_that_ended_has_no_clock(bench: Any) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    with pytest.raises(ProcessLookupError):
        bench("measure").cpu_s(ended.pid)


def test_a_family_is_all_that_came_of_a_process(bench: Any) -> None:
    line = "sleep 30 & echo $!; wait"
    with subprocess.Popen(["sh", "-c", line], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert bench("servers").family(parent.pid) == [parent.pid, child]
        os.kill(child, 15)


@pytest.mark.parametrize(
    ("p95_ms", "verdicts", "word"),
    [
        ((54.0, 54.9, 60.0), ("holds",) * 3, "holds"),
        ((44.0, 44.9, 50.0), ("holds",) * 3, "violated"),
        ((55.1, 55.2, 50.0), ("holds",) * 3, "violated"),
        ((50.0, 99.0, 99.0), ("holds", "unknown", "unknown"), "holds"),
        ((50.0, 50.0, 50.0), ("unknown",) * 3, "unknown"),
    ],
)
def test_the_median_of_believed_runs_is_held_against_the_stall(
    bench: Any, p95_ms: tuple[float, ...], verdicts: tuple[str, ...], word: str
) -> None:
    rows = [
        {"server": "grpc", "transport": "epoll", "p95": p95, "p99": 90.0, "verdict": verdict}
        for p95, verdict in zip(p95_ms, verdicts, strict=True)
    ]
    first, second = bench("stalls").verdicts(rows).splitlines()
    assert first.startswith("grpc")
    assert word in first
    assert ("unknown" if word == "unknown" else "holds") in second
