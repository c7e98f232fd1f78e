"""Several runs in one file, and files that a Windows shell or editor wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import importers
from sojourn.errors import SpecFault
from sojourn.importers import runs
from sojourn.importers.series import Series
from sojourn.importers.testing import BY_NAME, SAMPLES, Sample, content, put

TEXTS = [
    ("wrk.txt", "wrk-errors.txt"),
    ("wrk2.txt", "wrk2-u.txt"),
    ("oha.txt", "oha-errors.txt"),
    ("h2load.txt", "h2load.txt"),
    ("mutilate.txt", "mutilate-both.txt"),
    ("mutilate-scan.txt", "mutilate-skip.txt"),
]
BINARY = {"rezolus-combined.parquet"}
PLAIN = pytest.mark.parametrize(
    "one", [one for one in SAMPLES if one.name not in BINARY], ids=lambda one: one.name
)


def numbers(series: Series) -> tuple[object, ...]:
    return (
        dict(series.stated),
        series.requests,
        dict(series.failed),
        series.seconds,
        series.most_ns,
        series.times.n if series.times else 0,
    )


@pytest.mark.parametrize("names", TEXTS, ids="+".join)
def test_each_run_of_a_text_has_its_own_numbers(names: tuple[str, str], tmp_path: Path) -> None:
    alone = [importers.read(put(tmp_path, content(name)))[1] for name in names]
    _, both = importers.read(put(tmp_path, b"\n".join(map(content, names))))
    wanted = [
        (f"run {number} {one.name}".rstrip(), one)
        for number, some in enumerate(alone, 1)
        for one in some
    ]
    assert [one.name for one in both] == [name for name, _ in wanted]
    assert [numbers(one) for one in both] == [numbers(one) for _, one in wanted]


def test_a_run_that_was_cut_short_is_named_by_its_number(tmp_path: Path) -> None:
    torn = content("wrk.txt").partition(b"  30200 requests")[0]
    with pytest.raises(SpecFault, match="before the totals") as caught:
        importers.read(put(tmp_path, content("wrk.txt") + torn))
    assert caught.value.at.endswith("run 2")


def test_runs_of_one_text_are_bounded(tmp_path: Path) -> None:
    _, series = importers.read(put(tmp_path, content("wrk.txt") * runs.MOST))
    assert len(series) == runs.MOST
    with pytest.raises(SpecFault, match=f"more than {runs.MOST} runs"):
        importers.read(put(tmp_path, content("wrk.txt") * (runs.MOST + 1)))


@pytest.mark.parametrize(("first", "second"), [("wrk", "wrk2"), ("wrk2", "wrk")])
def test_a_text_of_two_tools_is_refused(first: str, second: str, tmp_path: Path) -> None:
    both = content(f"{first}.txt") + content(f"{second}.txt")
    with pytest.raises(SpecFault, match=rf"of {second}, not of {first}\b"):
        importers.read(put(tmp_path, both), first)


@pytest.mark.parametrize("name", ["k6.csv", "hey.csv", "oha.csv"])
def test_a_table_with_its_head_twice_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match="several runs") as caught:
        importers.read(put(tmp_path, content(name) * 2))
    assert "file of its own" in caught.value.fix


def test_two_runs_of_k6_in_one_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match="http_req_duration is described again") as caught:
        importers.read(put(tmp_path, content("k6.json") + content("k6-errors.json")))
    assert "file of its own" in caught.value.fix


@pytest.mark.parametrize("name", ["vegeta-report.json", "memtier.json", "k6-export.json"])
def test_two_results_in_one_file_of_json_are_not_called_cut_short(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecFault, match="Extra data") as caught:
        importers.read(put(tmp_path, content(name) + b"\n" + content(name)))
    assert "file of its own" in caught.value.fix


def test_a_second_run_that_h2load_appended_to_its_log_is_noticed(tmp_path: Path) -> None:
    rows = content("h2load.tsv")
    _, (once,) = importers.read(put(tmp_path, rows))
    assert once.notes == ()
    later = [line.split(b"\t") for line in rows.splitlines()]
    more = b"\n".join(b"\t".join((b"%d" % (int(at) + 90_000_000), *rest)) for at, *rest in later)
    _, (twice,) = importers.read(put(tmp_path, rows + more + b"\n"))
    assert "For 90.0 s no request" in twice.notes[0]


def test_a_second_log_of_hdrhistogram_is_noticed(tmp_path: Path) -> None:
    _, once = importers.read(put(tmp_path, content("hdr-java.hlog")))
    assert not any("several heads" in note for one in once for note in one.notes)
    _, twice = importers.read(put(tmp_path, content("hdr-java.hlog") * 2))
    assert all("several heads" in one.notes[-1] for one in twice)


@PLAIN
def test_ends_of_lines_and_a_mark_of_windows_change_nothing(one: Sample, tmp_path: Path) -> None:
    _, plain = importers.read(put(tmp_path, content(one.name)))
    windows = b"\xef\xbb\xbf" + content(one.name).replace(b"\n", b"\r\n")
    form, series = importers.read(put(tmp_path, windows))
    assert form.name == one.form
    assert [numbers(some) for some in series] == [numbers(some) for some in plain]


@BY_NAME
def test_a_sample_of_one_run_has_no_number_of_a_run(one: Sample, tmp_path: Path) -> None:
    _, series = importers.read(put(tmp_path, content(one.name)))
    assert not any(some.name.startswith("run ") for some in series)
