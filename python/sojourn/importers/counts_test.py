"""Files in which a tool counts more, or less, than it lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sojourn import importers
from sojourn.errors import SpecFault
from sojourn.importers import estimates, hey, memtier
from sojourn.importers.series import Series
from sojourn.importers.testing import content, put


def only(data: bytes | str, folder: Path) -> Series:
    _, (series,) = importers.read(put(folder, data.encode() if isinstance(data, str) else data))
    return series


def lines(seventh: list[str], us: int = 1250) -> str:
    """A log of pgbench with more fields than six."""
    return "".join(
        f"{number % 2} {number} {us} 0 1795684826 {114319 + number * 1000} {more}\n"
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
    skipped = "0 99 skipped 0 1795684826 441977 0\n"
    assert only(lines(["0"] * 9) + skipped, tmp_path).facts.clock == "intended"
    failed = skipped.replace("skipped", "deadlock")
    assert only(lines(["0"] * 9) + failed, tmp_path).facts.clock == "not known"


def test_pgbench_logs_that_name_no_failure_may_lack_them(tmp_path: Path) -> None:
    """PostgreSQL up to 14 does not log a failed transaction."""
    plain, skipped = lines(["0"] * 9), "0 99 skipped 0 1795684826 441977 0\n"
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
