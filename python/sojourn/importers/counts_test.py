"""Files in which a tool counts more, or less, than it lists."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from sojourn import importers
from sojourn.errors import SpecFault
from sojourn.importers import estimates, groups, hey, memtier
from sojourn.importers.series import Series
from sojourn.importers.testing import content, put


def only(data: bytes | str, folder: Path) -> Series:
    _, (series,) = importers.read(put(folder, data.encode() if isinstance(data, str) else data))
    return series


def lines(seventh: list[str], us: int = 1250) -> str:
    """A log of pgbench with more fields than six."""
    return "".join(
        f"{number % 2} {(number + 1) // 2} {us} 0 1795684826 {114319 + number * 1000} {more}\n"
        for number, more in enumerate(seventh, 1)
    )


@pytest.mark.parametrize(
    ("seventh", "clock", "loop"),
    [
        (["0"] * 40, "not known", "not known"),
        (["0", "1", "0", "2"] * 10, "not known", "not known"),  # --max-tries=3
        (["12", "3", "100"] * 10, "not known", "not known"),  # may be either
        (["12", "3", "126"] * 10, "intended", "open, limited"),  # no time for as many retries
        (["0 0", "74 1"] * 20, "intended", "open, limited"),  # both options
    ],
)
def test_a_seventh_field_of_pgbench_is_a_lag_only_where_it_must_be(
    seventh: list[str], clock: str, loop: str, tmp_path: Path
) -> None:
    series = only(lines(seventh), tmp_path)
    assert (series.facts.clock, series.facts.loop) == (clock, loop)
    assert series.requests == len(seventh)


def test_a_skipped_transaction_proves_a_rate(tmp_path: Path) -> None:
    skipped = "0 5 skipped 0 1795684826 441977 0\n"
    assert only(lines(["0"] * 9) + skipped, tmp_path).facts.clock == "intended"
    failed = skipped.replace("skipped", "deadlock")
    assert only(lines(["0"] * 9) + failed, tmp_path).facts.clock == "not known"


def test_pgbench_logs_that_name_no_failure_may_lack_them(tmp_path: Path) -> None:
    """PostgreSQL up to 14 does not log a failed transaction."""
    plain, skipped = lines(["0"] * 9), "0 5 skipped 0 1795684826 441977 0\n"
    for text in (plain, plain + skipped):
        assert not only(text, tmp_path).is_failed_known
    failed = only(plain + skipped.replace("skipped", "deadlock"), tmp_path)
    assert (failed.is_failed_known, failed.failed, failed.notes) == (True, {"deadlock": 1}, ())


def test_skipped_transactions_of_older_versions_of_pgbench_are_in_no_mean(tmp_path: Path) -> None:
    """Up to PostgreSQL 14 the number of transactions has those that were skipped."""
    old = (
        "1795684554 203 200000 513726741 168 7993 65405 124774187 1 5195 3\n"
        "1795684555 388 300000 704846243 163 7243 78529 128915811 2 4242 88\n"
    )
    series = only(old, tmp_path)
    assert (series.requests, series.failed) == (500, {"skipped": 91})
    assert series.stated[None] == pytest.approx(1e6)
    assert series.facts.clock == "intended"
    newer = old.replace(" 3\n", " 3 0 0 0 0 7\n").replace(" 88\n", " 88 0 0 0 0 2\n")
    later = only(newer, tmp_path)
    assert (later.requests, later.failed) == (591, {"skipped": 91, "other error": 9})
    with pytest.raises(SpecFault, match="400 of 388"):
        only(old.replace(" 88\n", " 400\n"), tmp_path)
    with pytest.raises(SpecFault, match="11 fields, the first one 16"):
        only(newer + old.splitlines(keepends=True)[1], tmp_path)


def test_intervals_in_which_all_were_skipped_have_no_mean(tmp_path: Path) -> None:
    series = only("1795684554 5 0 0 0 0 0 0 0 0 5\n", tmp_path)
    assert (series.requests, series.failed, series.most_ns) == (0, {"skipped": 5}, None)
    assert {one.refused for one in estimates.of(series)} == {estimates.NONE}


def test_calls_that_ghz_counts_and_does_not_list_are_counted(tmp_path: Path) -> None:
    """ghz lists a million at most; here its file is cut to the same form."""
    whole: dict[str, Any] = json.loads(content("ghz.json"))
    plain = only(json.dumps(whole), tmp_path)
    assert (plain.requests, plain.notes) == (60, ())
    whole |= {
        "count": 1_500_000,
        "total": 30_000_000_000,
        "statusCodeDistribution": {"OK": 1_499_000, "Unavailable": 1000},
    }
    series = only(json.dumps(whole), tmp_path)
    assert (series.requests, series.failed) == (1_499_000, {"status Unavailable": 1000})
    assert series.seconds == 30.0
    assert series.times is not None
    assert series.times.n == 60
    assert "first 60 of 1,500,000 calls" in series.notes[0]


def test_a_full_list_of_hey_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(content("hey.csv"), tmp_path).notes == ()
    monkeypatch.setattr(hey, "ROWS_MOST", 60)
    assert "at most 60 replies" in only(content("hey.csv"), tmp_path).notes[0]


def several(runs: int) -> dict[str, Any]:
    """What `--run-count` writes; with `--print-all-runs` each run, too."""
    whole: dict[str, Any] = json.loads(content("memtier.json"))
    stats = whole.pop("ALL STATS")
    whole["configuration"]["run_count"] = max(runs, 3)
    for number in range(1, runs + 1):
        whole[f"RUN #{number} RESULTS"] = stats
    slow = {**stats, "Runtime": {**stats["Runtime"], "Total duration": 164}}
    return whole | {
        "BEST RUN RESULTS": stats,
        "WORST RUN RESULTS": slow,
        f"AGGREGATED AVERAGE RESULTS ({max(runs, 3)} runs)": {
            **stats,
            "Runtime": {**stats["Runtime"], "Total duration": 246},
        },
    }


def test_the_runs_of_a_series_of_memtier_are_read(tmp_path: Path) -> None:
    form, series = importers.read(put(tmp_path, json.dumps(several(0), indent=4).encode()))
    assert form.name == "memtier"
    kinds = ("Sets", "Gets", "Totals")
    ends = [f"{end} run {kind}" for end in ("best", "worst") for kind in kinds]
    average = [f"average of 3 runs {kind}" for kind in kinds]
    assert [one.name for one in series] == [*ends, *average]
    assert [one.seconds for one in series] == [0.082] * 3 + [0.164] * 3 + [None] * 3
    assert all("best and the worst" in one.notes[-1] for one in series[:6])
    for one, best in zip(series[6:], series[:3], strict=True):
        assert "all 3 runs together; its rate is the mean" in one.notes[-1]
        assert (one.requests, one.rate) == (best.requests, best.rate_rps)
        assert one.times is not None
    _, each = importers.read(put(tmp_path, json.dumps(several(3), indent=4).encode()))
    runs = [f"run {n} {kind}" for n in (1, 2, 3) for kind in kinds]
    assert [one.name for one in each] == [*runs, *average]
    many = memtier.SERIES_MOST // len(kinds) + 1
    _, few = importers.read(put(tmp_path, json.dumps(several(many), indent=4).encode()))
    assert [one.name for one in few][:6] == ends


def test_of_runs_of_memtier_without_best_and_worst_only_a_few_are_read(tmp_path: Path) -> None:
    def runs(count: int) -> bytes:
        whole = several(count)
        every = {key: one for key, one in whole.items() if not key.startswith(("BEST", "WORST"))}
        return json.dumps(every, indent=4).encode()

    _, series = importers.read(put(tmp_path, runs(memtier.SERIES_MOST)))
    assert series[-4].name == f"run {memtier.SERIES_MOST} Totals"
    with pytest.raises(SpecFault, match=f"more than {memtier.SERIES_MOST} runs") as refused:
        importers.read(put(tmp_path, runs(memtier.SERIES_MOST + 1)))
    assert "a file of its own" in refused.value.fix


def test_a_result_of_memtier_without_numbers_is_refused(tmp_path: Path) -> None:
    whole = json.loads(content("memtier.json"))
    del whole["ALL STATS"]
    with pytest.raises(SpecFault, match="ALL STATS is missing"):
        only(json.dumps(whole), tmp_path)


def test_errors_of_connections_of_memtier_are_those_of_its_totals(tmp_path: Path) -> None:
    """It counts none of them by operation, and a reply that says an error as any other."""
    whole: dict[str, Any] = json.loads(content("memtier.json"))
    stats = whole["ALL STATS"]
    stats["Totals"]["Connection Errors"] = 7
    _, series = importers.read(put(tmp_path, json.dumps(whole, indent=4).encode()))
    assert [dict(one.failed) for one in series] == [{}, {}, {"connection errors": 7}]
    del stats["Sets"]  # --ratio 0:1
    single = only(json.dumps(whole, indent=4), tmp_path)
    assert (single.name, single.failed) == ("Gets", {"connection errors": 7})
    assert not single.is_failed_known
    assert "as any other reply" in single.notes[0]


def test_a_sampled_log_of_pgbench_has_no_rate(tmp_path: Path) -> None:
    """With --sampling-rate the numbers of a client's transactions have gaps."""
    whole = content("pgbench.log").decode().splitlines(keepends=True)
    plain = only("".join(whole), tmp_path)
    assert plain.rate
    assert not any("sampling" in note for note in plain.notes)
    sampled = only("".join(whole[::5]), tmp_path)
    assert (sampled.requests, sampled.rate) == (12, None)
    assert "12 of at least" in sampled.notes[-1]
    twice = only("".join(whole) * 2, tmp_path)
    assert (twice.requests, twice.rate) == (120, None)
    assert "several runs" in twice.notes[-1]


def stamped(n: int) -> str:
    return f"2026-01-01T00:{n // 600:02d}:{n // 10 % 60:02d}.{n % 10}00000Z"


def of_vegeta(n: int, code: int, attack: str = "") -> str:
    row = {"attack": attack, "seq": n, "code": code, "timestamp": stamped(n), "latency": 1000000}
    return json.dumps({**row, "bytes_out": 0, "error": ""}, separators=(",", ":"))


def test_a_run_lasts_until_its_last_failure(tmp_path: Path) -> None:
    """A server that ended after 6 s of 60 answered 10 requests each second, not 100."""
    rows = [of_vegeta(n, 200 if n < 60 else 503) for n in range(600)]
    series = only("\n".join(rows), tmp_path)
    assert (series.requests, series.failed) == (60, {"status 503": 540})
    assert series.seconds == pytest.approx(59.901)
    assert series.rate == pytest.approx(60 / 59.901)
    assert only("\n".join(rows[60:]), tmp_path).seconds == pytest.approx(53.901)


def test_rows_that_failed_count_into_the_length_in_every_format(tmp_path: Path) -> None:
    texts = {
        "hey": "response-time,DNS+dialup,status-code,offset\n1,0,200,0\n1,0,503,9",
        "oha-csv": "request-start,DNS,request-duration,status\n0,0,1,200\n9,0,1,503",
        "h2load-log": "1795684512000000\t200\t1000000\n1795684521000000\t503\t1000000",
        "vegeta-csv": "\n".join(
            f"17956845{second}000000000,{code},1000000000,0,6,,,,0,GET,http://x/,"
            for second, code in ((12, 200), (21, 503))
        ),
        "pgbench": "0 1 1000000 0 1795684513 0\n0 2 failed 0 1795684522 0",
    }
    for form, text in texts.items():
        _, (series,) = importers.read(put(tmp_path, f"{text}\n".encode()), form)
        assert (series.requests, sum(series.failed.values())) == (1, 1)
        assert series.seconds == pytest.approx(10.0), form


def test_attacks_of_vegeta_with_names_are_apart(tmp_path: Path) -> None:
    rows = [of_vegeta(n, 200, "slow") for n in range(50)]
    rows += [of_vegeta(n, 200, "fast") for n in range(300, 500)]
    for text in ("\n".join(rows), "\n".join(map(as_csv, rows))):
        _, series = importers.read(put(tmp_path, f"{text}\n".encode()))
        names = [(one.name, one.requests) for one in series]
        assert names == [("slow", 50), ("fast", 200), (groups.ALL, 250)]
        assert [one.rate for one in series] == pytest.approx([10, 10, 5], rel=0.05)
        assert "all attacks" in series[-1].notes[0]
    many = [of_vegeta(n, 200, f"attack {n % 30}") for n in range(600)]
    _, series = importers.read(put(tmp_path, "\n".join(many).encode()))
    assert [one.name for one in series][groups.PARTS_MOST :] == [groups.OTHERS, groups.ALL]
    assert [one.requests for one in series] == [20] * groups.PARTS_MOST + [
        600 - 20 * groups.PARTS_MOST,
        600,
    ]


def test_attacks_of_vegeta_of_one_name_are_said_to_be_together(tmp_path: Path) -> None:
    rows = [of_vegeta(n, 200) for n in range(50)]
    again = [row.replace("T00:0", "T01:0") for row in rows]
    for text in ("\n".join(rows + again), "\n".join(map(as_csv, rows + again))):
        series = only(f"{text}\n", tmp_path)
        assert "2 attacks of one name" in series.notes[0]
        assert "what lay between" in series.notes[1]
    assert only("\n".join(rows), tmp_path).notes == ()


def as_csv(row: str) -> str:
    one = json.loads(row)
    ns = int(datetime.fromisoformat(one["timestamp"]).timestamp() * 1e9)
    return f"{ns},{one['code']},{one['latency']},0,6,,,{one['attack']},{one['seq']},GET,http://x/,"


def test_stamps_of_ghz_are_ends_of_calls(tmp_path: Path) -> None:
    """`runner/stats_handler.go` stores the end. A late short call began after an early long one."""
    ends = [("2026-01-01T00:00:05Z", 4), ("2026-01-01T00:00:06Z", 1)]
    details = [{"timestamp": end, "latency": s * 10**9, "status": "OK"} for end, s in ends]
    _, (series,) = importers.read(put(tmp_path, json.dumps({"details": details}).encode()), "ghz")
    assert series.seconds == 5.0


def test_all_parts_together_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [of_vegeta(n, 200, f"attack {n % 3}") for n in range(9)]
    monkeypatch.setattr("sojourn.importers.requests.MOST", 8)
    with pytest.raises(SpecFault, match="more than 8 requests"):
        importers.read(put(tmp_path, "\n".join(rows).encode()))
