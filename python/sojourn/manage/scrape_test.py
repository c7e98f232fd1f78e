"""A Prometheus endpoint as window source: restarts, and what goes wrong."""

from __future__ import annotations

import contextlib
import math
import random
import socket
import time
from collections.abc import Callable

import pytest

from sojourn.errors import HostFault
from sojourn.manage import scrape
from sojourn.manage.exposition import Answer
from sojourn.manage.scrape import Scrape, window
from sojourn.manage.testing import sends, serving, until
from sojourn.stats.quantiles import ranks

EDGES = (0.0005, 0.001, 0.002, 0.005, math.inf)


def text(counts: dict[float, float]) -> str:
    return "".join(
        f't_bucket{{le="{"+Inf" if math.isinf(e) else e}"}} {c:.0f}\n' for e, c in counts.items()
    )


def cumulated(times_s: list[float]) -> dict[float, float]:
    return {edge: float(sum(t <= edge for t in times_s)) for edge in EDGES}


def exact(times_s: list[float], target_s: float) -> tuple[float, int]:
    """p99 by its rank, and how many are late."""
    ordered = sorted(times_s)
    return ordered[math.ceil(0.99 * len(ordered)) - 1], sum(t > target_s for t in times_s)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [50, 800, 5000])
def test_a_window_holds_what_the_requests_themselves_say(seed: int, n: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    old = [draw.expovariate(3000) for _ in range(100)]
    new = [draw.expovariate(3000 / (seed + 1)) for _ in range(n)]
    got = window(cumulated(old), cumulated(old + new), 1000, 1e6)
    p99_s, above = exact(new, 0.001)
    assert (got.n, got.above) == (n, above)
    bucket = next((a, b) for a, b in zip((0.0, *EDGES), EDGES, strict=False) if p99_s <= b)
    assert got.p99_ns is not None
    assert bucket[0] * 1e9 <= got.p99_ns <= min(bucket[1], 0.005) * 1e9
    if got.lo_ns is not None:
        assert got.lo_ns <= p99_s * 1e9
    if got.hi_ns is not None:
        assert got.hi_ns >= p99_s * 1e9
    high = ranks(n, 0.99)[1]
    is_beyond = high > n or sorted(new)[high - 1] > 0.005
    assert (got.hi_ns is None) == is_beyond


def test_a_target_between_two_edges_counts_no_one() -> None:
    counts = cumulated([0.0008] * 99 + [0.0012])
    assert window(dict.fromkeys(EDGES, 0.0), counts, 1000, 1.5e6).above is None
    assert window(counts, counts, 1000, 1e6).n == 0


def source(url: str, every_s: float = 0.05) -> Scrape:
    return Scrape(url=url, metric="t", labels={}, service="web", target_ns=1e6, every_s=every_s)


def fed(one: Scrape, answers: list[tuple[float, dict[float, float] | str]]) -> None:
    for at, counts in answers:
        whole = counts if isinstance(counts, str) else Answer(series={(): counts}, counts=counts)
        one._came.append((at, whole))
        one.read(at)


def test_longer_windows_are_differences_of_older_answers() -> None:
    one = source("http://h/", every_s=1.0)
    fed(one, [(float(t), cumulated([0.0001] * 10 * t)) for t in range(20)])
    got = one.windows("web", 19.5)
    assert [(w.length_ms, w.n, w.age_ms) for w in got] == [
        (1000, 10, 500.0), (2000, 20, 500.0), (14_000, 140, 500.0)
    ]  # fmt: skip
    assert one.windows("db", 19.5) == ()
    fast = source("http://h/", every_s=0.25)
    fed(fast, [(t / 4, cumulated([0.0001] * t)) for t in range(80)])
    assert [w.length_ms for w in fast.windows("web", 19.75)] == [250, 500, 1000, 2000, 13_500]


def test_a_restart_of_the_service_begins_anew() -> None:
    one = source("http://h/", every_s=1.0)
    fed(one, [(0.0, cumulated([0.1] * 90)), (1.0, cumulated([0.1] * 100))])
    assert one.windows("web", 1.0)[0].n == 10
    fed(one, [(2.0, cumulated([0.1] * 30))])
    assert (one.windows("web", 2.0), one.resets) == ((), 1)
    fed(one, [(3.0, cumulated([0.1] * 37))])
    assert [(w.n, w.above) for w in one.windows("web", 3.0)] == [(7, 7)]


def test_answers_that_do_not_fit_together_make_no_window_and_are_counted() -> None:
    one = source("http://h/", every_s=1.0)
    began = {**dict.fromkeys(EDGES, 0.0), math.inf: 100.0}
    torn = {**dict.fromkeys(EDGES, 50.0), math.inf: 100.0}  # each is cumulated, the growth is not
    fed(one, [(0.0, began), (1.0, torn)])
    assert (one.windows("web", 1.0), one.bad) == ((), 1)
    fed(one, [(2.0, {edge: count + 5 for edge, count in torn.items()})])
    assert [(w.n, w.above) for w in one.windows("web", 2.0)] == [(5, 0)]


@pytest.mark.parametrize(("edge", "count"), [(0.001, 2.0**60), (1e300, 10.0)])
def test_a_number_that_no_window_holds_makes_none(edge: float, count: float) -> None:
    one = source("http://h/", every_s=1.0)
    fed(one, [(0.0, {edge: 0.0, math.inf: 0.0}), (1.0, {edge: count, math.inf: count})])
    assert (one.windows("web", 1.0), one.bad) == ((), 1)


def test_what_is_wrong_is_counted_and_ages() -> None:
    one = source("http://h/", every_s=1.0)
    fed(one, [(0.0, cumulated([])), (1.0, cumulated([0.1]))])
    fed(one, [(2.0, "there is no t"), (3.0, "it answered 500")])
    assert (one.bad, one.why) == (2, "it answered 500")
    assert one.windows("web", 3.0)[0].age_ms == 2000.0


GOOD = text(cumulated([0.0001] * 5))


def test_a_real_endpoint_is_asked_again_and_again() -> None:
    count = 0

    def answer(to: socket.socket) -> None:
        nonlocal count
        count += 1
        sends("200 OK", text(cumulated([0.0001] * 10 * count)))(to)

    with serving(answer) as url, contextlib.closing(source(url)) as one:
        one.open()

        def is_there() -> bool:  # of a busy machine only longer windows may be
            one.read(time.monotonic())
            return len(one._taken) >= 3 and one.windows("web", time.monotonic()) != ()

        assert until(is_there)
        counts = [window.n for window in one.windows("web", time.monotonic())]
        assert counts == [10 * round(n / 10) for n in counts], "ten for each answer between"
        assert min(counts) >= 10


def drips(to: socket.socket) -> None:
    """A byte now and then, for ever: no single wait is long."""
    to.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(400):
        to.sendall(b"#")
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (sends("200 OK", "hello\n"), "there is no t"),
        (sends("500 Oh", GOOD), "it answered 500"),
        (sends("302 Found\r\nLocation: http://127.0.0.1:1/", ""), "it answered 302"),
        (lambda to: to.sendall(b"\x00\xff" * 50), "windows.url"),
        (lambda to: None, "windows.url"),
        (drips, "within 0.2 s"),
        (lambda to: time.sleep(0.5), "windows.url"),
        (sends("200 OK", "#" * 4000), "more than 2000 bytes"),
    ],
)
def test_an_endpoint_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[[socket.socket], None], says: str
) -> None:
    is_late = "within" in says or says == "windows.url"
    monkeypatch.setattr(scrape, "ANSWER_S", 0.2 if is_late else 20.0)
    monkeypatch.setattr(scrape, "BODY_BYTES", 2000)
    with serving(answer) as url, pytest.raises(HostFault) as caught:
        source(url).open()
    assert says in str(caught.value)


def test_one_that_goes_silent_is_counted_and_never_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scrape, "ANSWER_S", 0.2)
    is_well = True

    def answer(to: socket.socket) -> None:
        (sends("200 OK", GOOD) if is_well else lambda _to: time.sleep(0.3))(to)

    with serving(answer) as url, contextlib.closing(source(url)) as one:
        one.open()
        is_well = False

        def is_bad() -> bool:
            one.read(time.monotonic())
            return one.bad >= 2

        assert until(is_bad)
