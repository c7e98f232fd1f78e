"""The window source: what lines mean, add up to, and which are passed over."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from sojourn.controllers.look import Window
from sojourn.manage.source import (
    LENGTHS_MS,
    LINE_BYTES,
    NAMES_MAX,
    Came,
    Source,
    p99_of,
    parsed,
)

LINE = {"length_ms": 100, "n": 500, "p99_ns": 3e5, "above": 2}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    (tmp_path / "lines").touch()
    one = Source(tmp_path / "lines", "web")
    one.open()
    return one


def came(source: Source, t_s: float, *lines: object) -> None:
    with source.path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    source.read(t_s)


def test_a_longer_window_has_all_requests_and_the_p99_that_all_had(source: Source) -> None:
    for i in range(20):
        came(source, 1 + i / 10, LINE)
    result = source.windows("web", 3.0)
    assert [(w.length_ms, w.n, w.above, w.p99_ns) for w in result] == [
        (100, 500, 2, 3e5),
        (500, 2500, 10, 3e5),
        (1000, 5000, 20, 3e5),
        (2000, 10_000, 40, 3e5),
    ]
    assert result[0].age_ms == 100
    assert source.windows("db", 3.0) == ()
    source.close()


def test_a_p99_of_a_long_window_is_not_estimated_at_each_look(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []

    def counting(parts: Iterable[tuple[int, float | None]]) -> float | None:
        every = list(parts)
        counts.append(len(every))
        return p99_of(every)

    monkeypatch.setattr("sojourn.manage.source.p99_of", counting)
    for i in range(320):
        came(source, 1 + i / 10, LINE if i < 160 else {**LINE, "p99_ns": 6e5})
        source.windows("web", 1 + i / 10)
    # Of 15 s there are some 185 looks, and an estimate counts for 0.75 s.
    assert 18 <= len([count for count in counts if count > 100]) <= 28
    assert [w.p99_ns for w in source.windows("web", 33.0)] == [6e5] * 5
    source.close()


def mixed(parts: list[tuple[int, float]], at_ns: float) -> float:
    """Share of requests above a time, where each part has an exponential tail through its p99."""
    total = sum(n for n, _ in parts)
    return math.fsum(n / total * 0.01 ** (at_ns / p99_ns) for n, p99_ns in parts)


def test_a_p99_of_several_windows_is_that_of_their_exponential_tails() -> None:
    draw = random.Random(7)  # noqa: S311
    for spread in (0.1, 1.0, 3.0):
        parts = [(draw.randrange(1, 500), 1e6 * draw.lognormvariate(0, spread)) for _ in range(150)]
        low, high = 0.0, max(p99_ns for _, p99_ns in parts)
        for _ in range(60):  # by halves, in place of Newton's steps
            middle = (low + high) / 2
            low, high = (middle, high) if mixed(parts, middle) > 0.01 else (low, middle)
        assert p99_of(parts) == pytest.approx(high, rel=1e-3)
    # One window in twenty is a stall of 30 times as much: .05 · .01^(x/30) = .01, so x = 10.5.
    stall = p99_of([(100, 1e6)] * 19 + [(100, 30e6)])
    assert stall == pytest.approx(30e6 * math.log(5) / math.log(100), rel=1e-3)


def test_a_p99_of_several_windows_is_not_made_up_and_takes_any_number() -> None:
    assert p99_of([]) is None
    assert p99_of([(0, None), (0, 5e6)]) is None, "no request"
    assert p99_of([(89, 1e6), (11, None)]) is None
    assert p99_of([(91, 1e6), (9, None), (0, None)]) == 1e6
    assert p99_of([(2**52, 0.0), (1, 1e308)]) == pytest.approx(1.0, rel=1e-3)
    assert p99_of([(1, 0.0), (2**52, 1e308)]) == pytest.approx(2.0**53, rel=1e-3)


def test_windows_without_a_request_leave_the_count_known(source: Source) -> None:
    for i in range(5):
        came(source, 1 + i / 10, LINE if i else {"length_ms": 100, "n": 0})
    assert [(w.n, w.above) for w in source.windows("web", 1.4)] == [(500, 2), (2000, 8)]
    source.close()


def test_a_gap_makes_no_longer_window(source: Source) -> None:
    came(source, 1.0, LINE)
    came(source, 1.9, LINE)
    assert [w.length_ms for w in source.windows("web", 1.9)] == [100]
    source.close()


def test_windows_that_come_many_at_a_look_make_none_that_is_longer_than_it_says() -> None:
    one = Came()
    for second in range(1, 31):
        for _ in range(10):
            one.add(second + second % 3 * 1e-3, Window(length_ms=100, n=50, above=1))
    longer = [(w.length_ms, w.n, w.above) for w in one.windows(30.0)]
    assert longer == [(ms, ms // 2, ms // 100) for ms in (100, *LENGTHS_MS)]


def test_sums_are_those_of_the_windows_themselves() -> None:
    draw, one, lines = random.Random(30), Came(), []  # noqa: S311
    t_s = 0.0
    for _ in range(5000):  # more than are kept
        t_s += draw.choice((0.0, 0.05, 0.1, 0.3))
        above = draw.choice((None, *range(9))) if draw.random() < 0.01 else draw.randrange(9)
        lines.append((t_s, Window(length_ms=100, n=draw.randrange(9, 99), above=above)))
        one.add(*lines[-1])
        if draw.random() > 0.1:
            continue
        wanted = []
        for length_ms in LENGTHS_MS:
            parts = [w for at, w in lines[-600:] if at > t_s - length_ms / 1000]
            parts = parts[-(length_ms // 100) :]  # more than that is longer
            late = [w.above for w in parts]
            if sum(w.length_ms for w in parts) >= 0.9 * length_ms:
                known = None if None in late else sum(a or 0 for a in late)
                wanted.append((length_ms, sum(w.n for w in parts), known))
        assert [(w.length_ms, w.n, w.above) for w in one.windows(t_s)[1:]] == wanted


def test_lines_of_the_generator_and_of_named_services(source: Source) -> None:
    of_load = {"t_s": 1.0, "done_rps": 5000.0, "p99_ns": 1, "window": LINE}
    came(source, 1.0, of_load, {**LINE, "service": "db", "n": 7})
    assert source.windows("web", 1.0)[0].n == 500
    assert source.windows("db", 1.0)[0].n == 7
    source.close()


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[1]",
        b'"text"',
        b"[" * 50_000,
        b'{"n": 5}',
        b'{"length_ms": 100, "n": -5}',
        b'{"length_ms": 100, "n": 5, "p99_ns": NaN}',
        b'{"length_ms": 100, "n": 5, "p99_ns": 1e999}',
        b'{"length_ms": 100, "n": 9007199254740992}',
        b'{"length_ms": 100, "n": 1%s}' % (b"0" * 400),
        b'{"length_ms": 100, "n": 5, "above": 1%s}' % (b"0" * 400),
        b'{"length_ms": 1%s, "n": 5}' % (b"0" * 400),
        b'{"service": 5, "length_ms": 100, "n": 5}',
        b'{"done_rps": 5}',
        b'{"done_rps": 5, "window": 3}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_window_is_counted_and_passed_over(source: Source, line: bytes) -> None:
    with source.path.open("ab") as file:
        file.write(line + b"\n" + json.dumps(LINE).encode() + b"\n")
    source.read(1.0)
    assert (source.bad, source.windows("web", 1.0)) == (1, (Window(**LINE),))  # type: ignore[arg-type]
    source.close()


def test_a_sum_that_no_window_holds_makes_none(source: Source) -> None:
    line = {**LINE, "length_ms": 250, "n": 2**53 - 1}
    came(source, 1.0, line)
    came(source, 1.25, line)
    assert [w.length_ms for w in source.windows("web", 1.25)] == [250]
    source.close()


def test_names_without_end_take_no_memory_without_end(source: Source) -> None:
    came(source, 1.0, *({**LINE, "service": f"s{number}"} for number in range(2 * NAMES_MAX)))
    assert (len(source._came), source.bad) == (NAMES_MAX, NAMES_MAX)
    came(source, 2.0, {**LINE, "service": "s1"})
    assert source.windows("s1", 2.0)[0].age_ms == 0
    source.close()


def test_half_a_line_waits_for_the_rest_and_an_endless_one_is_dropped(source: Source) -> None:
    text = json.dumps(LINE)
    with source.path.open("a") as file:
        file.write(text[:20])
        file.flush()
        source.read(1.0)
        assert source.windows("web", 1.0) == ()
        file.write(text[20:] + "\n")
        file.flush()
        source.read(1.1)
        assert len(source.windows("web", 1.1)) == 1
        file.write("x" * (3 * LINE_BYTES))
        file.flush()
        source.read(1.2)
    assert len(source._rest) <= LINE_BYTES
    source.close()


def test_a_pipe_without_a_writer_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    one = Source(tmp_path / "pipe", "web")
    one.open()
    one.read(1.0)
    writer = os.open(tmp_path / "pipe", os.O_WRONLY | os.O_NONBLOCK)
    one.read(1.1)
    os.write(writer, json.dumps(LINE).encode() + b"\n")
    one.read(1.2)
    os.close(writer)
    assert [window.n for window in one.windows("web", 1.2)] == [500]
    one.close()


def test_a_line_of_the_generator_as_it_writes_it() -> None:
    text = (
        '{"t_s":1.0,"warmup_s":0.0,"length_s":5.0,"sent_rps":10.0,"done_rps":10.0,"in_flight":3,'
        '"errors":0,"p50_ns":100,"p99_ns":200,"ended":false,"window":{"length_ms":100,"n":10,'
        '"p99_ns":200,"lo_ns":null,"hi_ns":null,"above":0}}'
    )
    result = parsed(text.encode(), "web")
    assert result == ("web", Window(length_ms=100, n=10, p99_ns=200.0, above=0, waiting=3))


def test_a_generator_line_is_parsed_for_the_given_service() -> None:
    result = parsed(json.dumps({"done_rps": 1, "window": LINE}).encode(), "db")
    assert result == ("db", Window(**LINE))  # type: ignore[arg-type]
