"""Logs that were cut short, and names, reasons and bins of any length."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

from sojourn import importers
from sojourn.errors import SpecFault
from sojourn.importers import estimates, groups, requests
from sojourn.importers.requests import Requests
from sojourn.importers.testing import content, put

ROWS = [
    "hey.csv", "oha.csv", "k6.csv", "vegeta.csv", "h2load.tsv", "pgbench.log", "pgbench-rate.log",
    "pgbench-aggregate.log", "mutilate.save",
]  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_log_whose_last_row_may_lack_digits_is_refused(name: str, tmp_path: Path) -> None:
    """Of `1234` the file may have `12`, which is a time, too, and a wrong one."""
    whole = content(name)
    assert importers.read(put(tmp_path, whole.replace(b"\n", b"\r\n")))
    for digits in (0, 1, 2):
        with pytest.raises(SpecFault, match="last line does not end") as caught:
            importers.read(put(tmp_path, whole[: len(whole) - 1 - digits]))
        assert f"result:{len(whole.splitlines())}" in caught.value.at
    assert "echo >>" in caught.value.fix


@pytest.mark.parametrize("name", ["k6.json", "vegeta.json", "ghz.json"])
def test_json_shows_by_itself_whether_it_is_whole(name: str, tmp_path: Path) -> None:
    whole = content(name).rstrip(b"\n")
    assert importers.read(put(tmp_path, whole))
    with pytest.raises(SpecFault, match="no JSON"):
        importers.read(put(tmp_path, whole[:-1]))


@pytest.mark.parametrize("name", ["wrk.txt", "k6.json", "hey.csv"])
@pytest.mark.parametrize("form", ["utf-16", "utf-16-be"])
def test_a_text_in_utf_16_is_named_with_what_converts_it(
    name: str, form: str, tmp_path: Path
) -> None:
    mark = b"\xfe\xff" if form == "utf-16-be" else b""
    with pytest.raises(SpecFault, match="UTF-16") as caught:
        importers.read(put(tmp_path, mark + content(name).decode().encode(form)))
    assert "iconv" in caught.value.fix


def test_a_sum_of_many_times_is_no_time_of_one_request(tmp_path: Path) -> None:
    """An interval of an hour with a thousand clients: together they wait for weeks."""
    n, us = 900_000, 3_999_999
    text = f"1795684547 {n} {n * us} {n * us**2} 10 5000000\n"
    _, (series,) = importers.read(put(tmp_path, text.encode()))
    assert estimates.of(series)[0].value == us * 1e3


def test_the_longest_of_a_log_is_that_of_its_widest_bins_too(tmp_path: Path) -> None:
    """A histogram of one digit has a bin from 1,856 to 1,919; one of three has 1,910 exactly."""
    lines = []
    for digits, value in ((1, 1900), (3, 1910)):
        made = HdrHistogram(1, 100_000, digits)
        made.record_value(value)
        lines.append(f"0.0,1.0,1.0,{made.encode().decode()}\n")
    _, (series,) = importers.read(put(tmp_path, "".join(lines).encode()), "hdr-log")
    assert series.most_ns == 1919


def test_two_attacks_of_long_names_that_begin_alike_are_two(tmp_path: Path) -> None:
    """A name may be an address: of more than 80 letters the end was not looked at."""
    whole = content("vegeta.csv").decode().splitlines()[0].split(",")
    rows = [[*whole[:7], f"http://x/{'a' * 100}{end}", *whole[8:]] for end in ("1", "2", "2")]
    text = "".join(f"{','.join(row)}\n" for row in rows)
    _, series = importers.read(put(tmp_path, text.encode()))
    assert [one.requests for one in series] == [1, 2, 3]
    assert len({one.name for one in series}) == 3
    assert max(len(one.name) for one in series) == groups.NAME_MOST


def of_oha(*errors: str) -> bytes:
    """A result of three replies, and of requests that failed for some reasons, two each."""
    table = json.loads(content("oha.json"))
    table["statusCodeDistribution"] = {"200": 3}
    table["errorDistribution"] = dict.fromkeys(errors, 2)
    return json.dumps(table).encode()


def test_long_reasons_that_begin_alike_are_all_counted(tmp_path: Path) -> None:
    """The second one took the place of the first, so fewer had failed."""
    way = "error sending request for an address of a hundred letters: " + "x" * 60
    _, (series,) = importers.read(put(tmp_path, of_oha(f"{way} refused", f"{way} reset")))
    assert (series.requests, sum(series.failed.values())) == (3, 4)
    assert groups.by_reason([("a" * 99, 1), ("a" * 99, 2), ("b", 0)]).popitem()[1] == 3


def test_a_long_reason_stays_one_beside_many_others() -> None:
    made = Requests()
    for why in ("a" * 99, *map(str, range(requests.REASONS)), "a" * 99):
        made.fail(why, 0.0, 1.0)
    assert made.failed["a" * requests.REASON_MOST] == 2


def test_two_tags_of_a_log_that_begin_alike_are_two(tmp_path: Path) -> None:
    made = HdrHistogram(1, 100_000, 3)
    made.record_value(5)
    tags = ("t" * 90 + end for end in "12")
    text = "".join(f"Tag={tag},0.0,1.0,1.0,{made.encode().decode()}\n" for tag in tags)
    _, series = importers.read(put(tmp_path, text.encode()), "hdr-log")
    assert [one.requests for one in series] == [1, 1]


def test_a_percentile_of_memtier_with_a_cut_name_is_not_taken_for_another(tmp_path: Path) -> None:
    """With `--print-percentiles 99.9,99.999` the last one is named p99.99 (a buffer of 8 bytes)."""
    whole = json.loads(content("memtier.json"))
    operation = whole["ALL STATS"]["Gets"]
    operation["Count"] = 1_000_000
    operation["Percentile Latencies"] = {"p99.90": 2.0, "p99.99": 9.0}
    _, series = importers.read(put(tmp_path, json.dumps(whole).encode()))
    gets = next(one for one in series if one.name == "Gets")
    assert {q for q in gets.stated if q} == {0.999}


@pytest.mark.parametrize(("word", "is_cut"), [("true", True), (True, True), ("false", False)])
def test_an_interrupted_run_of_memtier_is_named(
    word: object, *, is_cut: bool, tmp_path: Path
) -> None:
    whole = json.loads(content("memtier.json"))
    whole["ALL STATS"]["Runtime"]["Interrupted"] = word
    _, series = importers.read(put(tmp_path, json.dumps(whole).encode()))
    assert {any("interrupted" in note for note in one.notes) for one in series} == {is_cut}


def test_calls_of_ghz_that_the_end_of_the_run_may_have_cut_off_are_named(tmp_path: Path) -> None:
    """`--duration-stop close`, the default of `-z`: no fault of the server."""
    whole = json.loads(content("ghz.json"))
    for one in whole["details"][-2:]:
        one |= {"status": "Unavailable", "error": "the client connection is closing"}
    for reason, words in (("normal", ""), ("timeout", "Of 2 calls"), ("cancel", "interrupted")):
        whole["endReason"] = reason
        _, (series,) = importers.read(put(tmp_path, json.dumps(whole).encode()))
        assert series.failed == {"status Unavailable": 2}
        assert [words in note for note in series.notes] == ([True] if words else [])
    whole |= {"endReason": "timeout", "details": whole["details"][:-2], "count": 58}
    _, (series,) = importers.read(put(tmp_path, json.dumps(whole).encode()))
    assert series.notes == ()
