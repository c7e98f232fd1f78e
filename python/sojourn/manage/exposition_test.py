"""Text of a Prometheus histogram: what is read, and what is refused."""

from __future__ import annotations

import math

import pytest

from sojourn.manage import exposition
from sojourn.manage.exposition import KNOWN_MORE, Known, histogram

TEXT = """\
# HELP http_seconds_bucket{le="1"} a help that looks like a line
# TYPE http_seconds histogram
http_seconds_bucket{path="/a",le="0.1"} 10
http_seconds_bucket{path="/a",le="1"} 15 1700000000000
http_seconds_bucket{path="/a",le="+Inf"} 16
http_seconds_sum{path="/a"} 3
http_seconds_count{path="/a"} 16
http_seconds_bucket{le="0.1",path="/b"} 1e2 # {trace="x} 9"} 0.05 1700000000.5
http_seconds_bucket{le="1.0",path="/b",} 100
http_seconds_bucket{le="+Inf",path="/b"} 101
http_seconds_buckets{le="2"} no number
other_bucket{le="
"""


def test_series_are_added_and_labels_choose() -> None:
    every = histogram(TEXT, "http_seconds", {})
    assert every.counts == {0.1: 110, 1.0: 115, math.inf: 117}
    assert [dict(labels)["path"] for labels in every.series] == ["/a", "/b"]
    one = histogram(TEXT, "http_seconds", {"path": "/b"})
    assert one.counts == {0.1: 100, 1.0: 100, math.inf: 101}
    assert (every.stamp, one.stamp) == (1700000000000, None)


def test_labels_are_unescaped() -> None:
    text = 'a_bucket{x="1\\\\2\\"3\\n4,}",le="+Inf"} 5\n'
    assert histogram(text, "a", {"x": '1\\2"3\n4,}'}).counts == {math.inf: 5}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no a"),
        ('b_bucket{le="+Inf"} 1', "there is no a"),
        ('a_bucket{le="+Inf",x="2"} 1', "there is no a"),
        ('a_bucket{le="1"} 1', "has no bucket"),
        ('a_bucket{le="1"} 2\na_bucket{le="+Inf"} 1', "not cumulated"),
        ('a_bucket{le="+Inf"} 1\na_bucket{le="+Inf"} 2', "the edge inf twice"),
        ('a_bucket{le="+Inf",y="1"} 1\na_bucket{le="1",y="2"} 2\na_bucket{le="+Inf",y="2"} 2',
         "unequal edges"),
        ('a_bucket{le="+Inf"} -1', "a count of a is -1"),
        ('a_bucket{le="+Inf"} NaN', "in place of a number"),
        ('a_bucket{le="+Inf"} 1_0', "in place of a number"),
        ('a_bucket{le="+Inf"} inf', "a count of a is inf"),
        (f'a_bucket{{le="+Inf"}} {2**53}', "a count of a is 9007199254740992"),
        (f'a_bucket{{le="+Inf",y="1"}} {2**52}\na_bucket{{le="+Inf",y="2"}} {2**52}', "is 9.007"),
        ('a_bucket{le="x"} 1', "'x' in place of a number"),
        ('a_bucket{y="1"} 1', "'' in place of a number"),
        ('a_bucket{le="-Inf"} 1', "has no bucket"),
        ('a_bucket{le="+Inf"} \u0661', "in place of a number"),
        ('a_bucket{le="+Inf"} 1 soon', "in place of a number"),
        ('a_bucket{le="0.1"} 1\na_bucket{le="0.10"} 1', "the edge 0.1 twice"),
        ('a_bucket{le="+Inf"}', "not in the format"),
        ('a_bucket{le="+Inf"} 1 2 3', "not in the format"),
        ('a_bucket{le="+Inf" 1', "not in the format"),
        ('a_bucket{le="+Inf,} 1', "not in the format"),
        ('a_bucket{le="+Inf",le="1"} 1', "a label twice"),
        ('a_bucket{le="+Inf",x="' + "\\\\" * 20_000 + '"} 1', "has more than"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        histogram(text, "a", {} if "x=" not in text or "has" in says else {"x": "1"})


def test_many_edges_are_refused() -> None:
    lines = [f'a_bucket{{le="{i}"}} 1' for i in range(1000)]
    with pytest.raises(ValueError, match="more than 1000 edges"):
        histogram("\n".join([*lines, 'a_bucket{le="+Inf"} 1']), "a", {})


def test_an_edge_is_a_number_however_it_is_spelled() -> None:
    spelled = ['"1e-1"', '"0.10"', '".1"']
    texts = [f'a_bucket{{le={one}}} 1\na_bucket{{le="Inf"}} 2\n' for one in spelled]
    assert [histogram(text, "a", {}).counts for text in texts] == [{0.1: 1, math.inf: 2}] * 3


@pytest.mark.parametrize(
    ("line", "started_s"),
    [
        ("process_start_time_seconds 1.7e9", 1.7e9),
        ("process_start_time_seconds 1700000000 1700000001000", 1.7e9),
        ("process_start_time_seconds NaN", None),
        ("process_start_time_seconds ", None),
        ('process_start_time_seconds{of="another"} 5', None),
        ("process_start_time_seconds_total 5", None),
    ],
)
def test_the_start_of_the_process_is_read_where_it_is_there(
    line: str, started_s: float | None
) -> None:
    assert histogram(f'{line}\na_bucket{{le="+Inf"}} 1\n', "a", {}).started_s == started_s


def test_blanks_between_the_parts_of_a_line_change_nothing() -> None:
    lines = ['a_bucket\t{ x = "1" , le="1" , } 2', 'a_bucket {x="1", le="+Inf"}3 5']
    spaced = "\r\n".join([*lines, 'a_bucket { le = "2" } 1 1 1'])
    plain = 'a_bucket{x="1",le="1"} 2\na_bucket{x="1",le="+Inf"} 3 5'
    assert histogram(spaced.rpartition("\n")[0], "a", {}) == histogram(plain, "a", {})
    with pytest.raises(ValueError, match="not in the format"):
        histogram(spaced, "a", {})


@pytest.mark.parametrize("wanted", [{}, {"path": "/b"}])
def test_labels_that_were_read_before_are_not_read_again(
    monkeypatch: pytest.MonkeyPatch, wanted: dict[str, str]
) -> None:
    """Thousands of series would take a third of a CPU."""
    known: Known = {}
    first = histogram(TEXT, "http_seconds", wanted, known)
    assert first == histogram(TEXT, "http_seconds", wanted)
    later = TEXT.replace(" 16", " 17").replace("} 101", '}\t102 # {a="}"} 3')
    fresh = histogram(later, "http_seconds", wanted)
    with monkeypatch.context() as patched:
        patched.setattr(exposition, "_labels", None)
        assert histogram(later, "http_seconds", wanted, known) == fresh
    assert fresh != first
    odd = 'a_bucket{x="1 # 2}",le="+Inf"} 5\na_bucket{x="1",le="+Inf"} 7\n'
    for _ in range(2):
        assert histogram(odd, "a", {}, known).counts == {math.inf: 12}
        assert histogram(odd, "a", {}, known).series == histogram(odd, "a", {}).series


def test_labels_that_come_no_more_take_no_memory_without_end() -> None:
    known: Known = {}
    for number in range(3 * KNOWN_MORE):
        histogram(f'a_bucket{{le="+Inf",id="{number}"}} 1', "a", {}, known)
        assert len(known) <= KNOWN_MORE + 2
