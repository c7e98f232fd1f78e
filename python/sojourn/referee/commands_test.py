"""Rates as load tools' command lines say them; hostile ones."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from sojourn.importers import k6_facts
from sojourn.referee import k6_script
from sojourn.referee.commands import TOOLS, recognised

SCRIPT = """
// executor: 'shared-iterations', rate: 9,
export const options = { scenarios: { a: {
  executor: 'constant-arrival-rate', rate: 1_200, timeUnit: '1m', duration: '10s' } } };
"""


@pytest.mark.parametrize(
    ("line", "tool", "rate", "arrivals"),
    [
        ("wrk2 -t2 -c50 -R2000 http://x/", "wrk2", 2000, "paced"),
        ("wrk -R 2k http://x/", "wrk2", 2000, "paced"),
        ("wrk -t2 -c50 http://x/", "wrk", None, ""),
        ("/usr/bin/wrk -t2 --rate=300 http://x/", "wrk2", 300, "paced"),
        ("vegeta attack -rate=100/1s -duration=5s", "vegeta", 100, "paced"),
        ("vegeta attack -rate 3000/1m", "vegeta", 50, "paced"),
        ("vegeta attack -targets x", "vegeta", 50, "paced"),
        ("vegeta attack -rate=0 -max-workers=8", "vegeta", None, ""),
        ("hey -z 5s -q 50 -c 20 http://x/", "hey", 1000, "paced"),
        ("hey -q 10 http://x/", "hey", 500, "paced"),
        ("hey -z 5s http://x/", "hey", None, ""),
        ("oha -q 700 http://x/", "oha", 700, "paced"),
        ("fortio load -qps 100 http://x/", "fortio", 100, "paced"),
        ("fortio load http://x/", "fortio", 8, "paced"),
        ("fortio load -qps 0 http://x/", "fortio", None, ""),
        ("pgbench -S -R 300 -c 8 db", "pgbench", 300, "poisson"),
        ("pgbench -nS -R300 db", "pgbench", 300, "poisson"),
        ("pgbench --builtin=select-only@1 --rate=300 db", "pgbench", 300, "poisson"),
        ("pgbench -b se -R 300 db", "pgbench", 300, "poisson"),
        ("pgbench -R 300 -c 8 db", "pgbench", None, ""),
        ("pgbench -N -R 300 db", "pgbench", None, ""),
        ("pgbench -b tpcb-like -R 300 db", "pgbench", None, ""),
        ("pgbench -S -b tpcb-like -R 300 db", "pgbench", None, ""),
        ("pgbench -S -f x.sql -R 300 db", "pgbench", None, ""),
        ("pgbench -SC -R 300 db", "pgbench", None, ""),
        ("pgbench -c 8 db", "pgbench", None, ""),
        ("memtier_benchmark --rate-limiting=10 -c 5 -t 2", "memtier", 100, "paced"),
        ("memtier_benchmark --rate-limiting 10", "memtier", 2000, "paced"),
        ("ghz -r 250 --insecure x", "ghz", 250, "paced"),
        ("autocannon -R 500 http://x/", "autocannon", 500, "paced"),
        ("autocannon -r 50 http://x/", "autocannon", 500, "paced"),
        ("node node_modules/.bin/autocannon.js -c 4 -r 50 http://x/", "autocannon", 200, "paced"),
        ("bombardier -r 90 http://x/", "bombardier", 90, "paced"),
        ("h2load --rps 10 -c 4 http://x/", "h2load", 40, "paced"),
        ("mutilate -s x -q 5000", "mutilate", 5000, "poisson"),
        ("ab -n 100 -c 2 http://x/", "ab", None, ""),
        ("redis-benchmark -c 50", "redis-benchmark", None, ""),
        ("sojourn-load http://x/ --rate 2k", "sojourn-load", 2000, "poisson"),
        ("taskset -c 1 wrk2 -R5 http://x/", "wrk2", 5, "paced"),
        ("sh -c 'echo GET http://x | vegeta attack -rate=7 | vegeta report'", "vegeta", 7, "paced"),
        ("taskset -c 1 sh -c 'cat x | vegeta attack -rate=9'", "vegeta", 9, "paced"),
        ("./mine --rate 7", "", None, ""),
        ("./mine http://x/ab", "", None, ""),
        ("./mine localhost:80/wrk -R 5", "", None, ""),
        ("wrk -R", "wrk", None, ""),
        ("wrk -R zz http://x/", "wrk2", None, ""),
        ("wrk -R 1e999 http://x/", "wrk2", None, ""),
        ("hey -q 5 -c x http://x/", "hey", 250, "paced"),
        ("sh -c", "", None, ""),
    ],
)
def test_the_rate_is_that_of_all_connections(
    line: str, tool: str, rate: float | None, arrivals: str
) -> None:
    load = recognised(shlex.split(line))
    assert (load.tool, load.rate_rps, load.arrivals) == (tool, rate, arrivals)
    assert (load.facts is not None) == bool(tool)


def test_a_rate_of_transactions_is_said_to_be_none_of_requests() -> None:
    load = recognised(["pgbench", "-R", "300", "db"])
    assert load.facts is not None
    assert load.facts.clock == "intended"
    assert "transactions" in " ".join(load.notes)
    assert not recognised(["pgbench", "-S", "-R", "300", "db"]).notes


@pytest.mark.parametrize(
    ("line", "pipelined"),
    [
        ("redis-benchmark -P 16 -t get", 16),
        ("redis-benchmark -P16", 16),
        ("redis-benchmark -t get", 1),
        ("memtier_benchmark --pipeline=4", 4),
        ("autocannon -p 10 http://x/", 10),
        ("sh -c 'autocannon --pipelining 3 http://x/'", 3),
        ("mutilate -s x -q 5000 --depth=4", 4),
        ("pgbench -P 5 db", 1),
        ("hey -c 8 http://x/", 1),
    ],
)
def test_pipelines_are_read(line: str, pipelined: int) -> None:
    assert recognised(shlex.split(line)).pipelined == pipelined


@pytest.mark.parametrize(
    ("line", "handshakes"),
    [
        ("hey https://x/", 2),
        ("hey http://x/", 0),
        ("./mine https://x/", 2),
        ("redis-benchmark --tls -t get", 2),
        ("sh -c 'echo GET https://x/ | vegeta attack -rate=7'", 2),
        ("pgbench -S db", 2),
    ],
)
def test_handshakes_of_a_connection_are_counted(line: str, handshakes: int) -> None:
    assert recognised(shlex.split(line)).handshakes == handshakes


def test_a_k6_script_may_use_tls(tmp_path: Path) -> None:
    path = tmp_path / "x.js"
    for scheme, handshakes in (("https", 2), ("http", 0)):
        path.write_text(f"{SCRIPT}\nhttp.get('{scheme}://x/');\n")
        load = recognised(["k6", "run", str(path)])
        assert (load.handshakes, load.rate_rps) == (handshakes, 20)


def test_no_words_are_no_tool() -> None:
    assert recognised([]).tool == ""
    assert recognised(["\0", "\x1b[2J", "-" * 100_000]).tool == ""


def test_every_tool_is_read_without_options() -> None:
    for name in TOOLS:
        assert recognised([name]).facts is not None


def test_a_k6_script_has_its_rate_if_it_is_one_plain_number(tmp_path: Path) -> None:
    path = tmp_path / "x.js"
    path.write_text(SCRIPT)
    load = recognised(["k6", "run", str(path)])
    assert (load.tool, load.rate_rps, load.arrivals) == ("k6", 20, "paced")
    assert load.facts is not None
    assert load.facts.loop == "open, limited"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("export default function () {}", ""),
        (SCRIPT.replace("1_200", "RATE"), "--rate"),
        (SCRIPT.replace("1_200", "1_200 * 2"), "--rate"),
        (SCRIPT + SCRIPT.replace("1_200", "7"), "--rate"),
        (SCRIPT.replace("'1m'", "'0s'"), "--rate"),
        (SCRIPT.replace("constant-arrival-rate", "ramping-arrival-rate"), "ramps"),
        (SCRIPT.replace("constant-arrival-rate", "constant-vus"), ""),
    ],
)
def test_what_a_k6_script_does_not_say_plainly_is_not_guessed(text: str, word: str) -> None:
    load = k6_script.of_text(text, k6_facts.FACTS)
    assert load.rate_rps is None
    assert word in " ".join(load.notes)
    assert bool(word) == bool(load.notes)


def test_a_k6_script_that_is_none_is_said(tmp_path: Path) -> None:
    for name in ("absent.js", "."):
        load = recognised(["k6", "run", str(tmp_path / name) + ("" if name != "." else "/x.ts")])
        assert "cannot be read" in " ".join(load.notes)
    assert "No script" in " ".join(recognised(["k6", "run"]).notes)
