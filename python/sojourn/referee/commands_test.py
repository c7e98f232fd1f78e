"""Rates as load tools' command lines say them; hostile ones."""

from __future__ import annotations

import shlex

import pytest

from sojourn.referee.commands import TOOLS, recognised


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
        ("hey -q 5 -c x http://x/", "hey", None, ""),
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
    ("line", "tool", "rate"),
    [
        # As tools read their options: abbreviated, glued, repeated, behind the end of options.
        ("wrk2 -LR2k http://x/", "wrk2", 2000),
        ("wrk2 --rat=2k http://x/", "wrk2", 2000),
        ("wrk2 -R 1k -R 2k http://x/", "wrk2", 2000),
        ("wrk2 -R 2k http://x/ -- -R 5", "wrk2", 2000),
        ("wrk2 -s -R http://x/", "wrk2", None),
        ("pgbench -nSR300 db", "pgbench", 300),
        ("memtier_benchmark --rate=10 --client=5 --thread 2", "memtier", 100),
        ("memtier_benchmark --rate-limiting=10 -c$N", "memtier", None),
        ("h2load -vc10 --rps 5 http://x/", "h2load", 50),
        ("h2load --rps 5 -c 10 -r 2 http://x/", "h2load", None),
        ("hey --q 5 --c 20 http://x/", "hey", 100),
        ("hey -q=5 -disable-keepalive -c=20 http://x/", "hey", 100),
        ("hey -q 5 http://x/ -c 2", "hey", 250),
        ("hey http://x/ -q 5 -c 2", "hey", None),
        ("hey -q 5 -c 0 http://x/", "hey", None),
        ("fortio load -qps max http://x/", "fortio", None),
        ("fortio load -a -qps 100 http://x/", "fortio", 100),
        ("fortio load http://x/ -qps 100", "fortio", 8),
        ("fortio load -c 8 --qps=-1 http://x/", "fortio", None),
        ("vegeta -cpus 2 attack -rate 50/1m -lazy", "vegeta", 50 / 60),
        ("vegeta attack -rate=infinity -max-workers 9", "vegeta", None),
        ("vegeta attack --rate 90/1m30s", "vegeta", None),
        ("oha -q 1000 --burst-delay 2s http://x/", "oha", 1000),
        ("oha --burst-delay 2s --burst-rate 9 http://x/", "oha", None),
        ("ghz --rps=250 x", "ghz", 250),
        ("ghz -r 250 --load-schedule=step --load-start=5 x", "ghz", None),
        ("autocannon -r x -R 500 http://x/", "autocannon", None),
        ("bombardier --rate=90 http://x/", "bombardier", 90),
        ("sojourn-load http://x/ --find-max --rate 2k", "sojourn-load", None),
        ("sojourn-load http://x/ --rate ramp:1k..9k@60s", "sojourn-load", None),
        # What starts a tool, and what does something else with its words.
        ("timeout -s INT 30s wrk2 -R 5 http://x/", "wrk2", 5),
        ("sudo -n -u me env A=1 nice -n 5 chrt -f 50 wrk2 -R 5 http://x/", "wrk2", 5),
        ("ip netns exec blue taskset 0x3 hey -q 5 -c 2 http://x/", "hey", 10),
        ("docker run --rm -v /x:/hey williamyeh/wrk2:latest -R 5 http://x/", "wrk2", 5),
        ("bash -euo pipefail -c 'wrk2 -R 5 http://x/'", "wrk2", 5),
        ("nohup ./hey -q 5 -c 2 http://x/", "hey", 10),
        ("./twice hey -q 5 -c 2 http://x/", "", None),
        ("taskset -c 1 ./twice hey -q 5 -c 2 http://x/", "", None),
        ("echo hey -q 5 -c 2", "", None),
        ("sh run.sh hey -q 5 -c 2", "", None),
        # Scripts of a shell.
        ("sh -c 'wrk2 -H \"a: -R 9\" -R 5 http://x/'", "wrk2", 5),
        ("sh -c 'wrk2 -R 5 http://x/ # -R 9'", "wrk2", 5),
        ("sh -c '# wrk2 -R 9\nwrk2 -R 5 http://x/#top'", "wrk2", 5),
        ("sh -c 'wrk2 -R $RATE http://x/'", "wrk2", None),
        ("sh -c 'hey -q 5 $MORE http://x/'", "hey", None),
        ("sh -c 'vegeta attack $MORE'", "vegeta", None),
        ("sh -c 'fortio load `more` http://x/'", "fortio", None),
        ("sh -c 'hey \"$@\"' sh -q 5 -c 2 http://x/", "hey", None),
        ("sh -c 'wrk2 -R 2000 http://x/ & wrk2 -R 500 http://x/; wait'", "wrk2", None),
        ("sh -c 'hey -q 5 -c 2 http://x/ && wrk2 -R 500 http://x/'", "", None),
        ("sh -c 'for i in 1 2; do wrk2 -R 500 http://x/ & done'", "wrk2", None),
        ("sh -c 'vegeta attack -rate=9 | tee x | vegeta report'", "vegeta", 9),
        ("sh -c 'fortio curl http://x/; fortio load -qps 9 http://x/'", "fortio", 9),
        ("sh -c 'wrk2 -R 5 \"http://x/'", "", None),
        ("sh -c \"sh -c 'wrk2 -R 5 http://x/'\"", "wrk2", 5),
    ],
)
def test_a_rate_is_read_as_the_tool_reads_it_or_it_is_not_known(
    line: str, tool: str, rate: float | None
) -> None:
    load = recognised(shlex.split(line))
    assert (load.tool, load.rate_rps) == (tool, pytest.approx(rate) if rate else None)
    assert bool(load.arrivals) == bool(rate)


def test_what_a_tool_measures_is_as_its_options_say() -> None:
    facts = {
        line: recognised(line.split()).facts
        for line in ("oha -q 9 --latency-correction x", "oha --latency-correction x", "oha -q 9 x")
    }
    clocks = [one.clock for one in facts.values() if one is not None]
    assert clocks == ["intended", "send", "send"]
    load = recognised(["sojourn-load", "http://x/", "--find-max"])
    assert load.facts is not None
    assert (load.facts.clock, load.facts.loop) == ("send", "closed")
    several = recognised(["sh", "-c", "wrk2 -R 5 x & wrk2 -R 7 x"])
    assert several.facts is not None
    assert "runs 2 loads" in several.notes[0]


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


def test_no_words_are_no_tool() -> None:
    assert recognised([]).tool == ""
    assert recognised(["\0", "\x1b[2J", "-" * 100_000]).tool == ""


def test_every_tool_is_read_without_options() -> None:
    for name in TOOLS:
        assert recognised([name]).facts is not None
