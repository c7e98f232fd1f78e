"""Which answers of a Prometheus endpoint belong together, and which are whole."""

from __future__ import annotations

import contextlib
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from sojourn.controllers.look import Window
from sojourn.errors import HostFault
from sojourn.manage import scrape
from sojourn.manage.cutoff import cut_after
from sojourn.manage.exposition import histogram
from sojourn.manage.scrape import Scrape, window
from sojourn.manage.testing import serving, until

pytestmark = pytest.mark.usefixtures("patient")
TARGET_S = 0.001
EDGES = (0.0005, TARGET_S, 0.005, math.inf)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine answers late, and nothing here is about that."""
    monkeypatch.setattr(scrape, "ANSWER_S", 20.0)


def text(*, stamp: str = "", started: str = "", **series: tuple[int, int]) -> str:
    """An answer: of each handler how many requests were fast, and how many late."""
    lines = [started]
    for name, (fast, late) in series.items():
        for edge in EDGES:
            count = fast + (late if edge > TARGET_S else 0)
            le = "+Inf" if math.isinf(edge) else f"{edge:g}"
            lines.append(f't_bucket{{handler="{name}",le="{le}"}} {count} {stamp}')
    return "\n".join([*lines, ""])


def source(url: str = "http://h/", target_ns: float = 1e6) -> Scrape:
    return Scrape(url=url, metric="t", labels={}, service="web", target_ns=target_ns, every_s=0.05)


def read(*texts: str) -> Scrape:
    """A source that got these answers, one after the other."""
    one = source()
    for i, answer in enumerate(texts):
        one._came.append((i * 0.05, histogram(answer, "t", {})))
        one.read(i * 0.05)
    return one


def newest(one: Scrape) -> list[tuple[int, int | None]]:
    return [(w.n, w.above) for w in one.windows("web", 10.0)][:1]


def test_one_of_several_series_that_begins_anew_begins_all_anew() -> None:
    """Together they grew, so that only the series itself shows it."""
    before = text(a=(1000, 100), b=(1000, 0))
    one = read(before, text(a=(5000, 100), b=(7, 2)))
    assert (newest(one), one.resets, one.bad) == ([], 1, 0)
    assert one.why == "it has restarted, or has other series", "as of workers that take turns"
    one = read(before, text(a=(5000, 100), b=(7, 2)), text(a=(5100, 101), b=(10, 2)))
    assert newest(one) == [(104, 1)]


STARTED = "process_start_time_seconds 1.7e+09"


def test_a_series_that_is_gone_begins_anew() -> None:
    one = read(text(a=(1000, 0), b=(10, 5)), text(a=(1100, 0)))
    assert (newest(one), one.resets) == ([], 1)


def test_a_series_that_is_new_counts_from_zero_in_a_process_that_is_the_same() -> None:
    """Else it may be of an instance that ran long before this endpoint handed its counts on."""

    def both(first: str, second: str) -> tuple[str, str]:
        return text(started=first, a=(1000, 0)), text(started=second, a=(1100, 0), c=(3, 1))

    one = read(*both(STARTED, STARTED))
    assert (newest(one), one.resets) == ([(104, 1)], 0)
    for first, second in (("", ""), ("", STARTED), (STARTED, "")):
        one = read(*both(first, second))
        assert (newest(one), one.resets) == ([], 1)
    one = read(*both("", ""), text(a=(1200, 1), c=(4, 2)))
    assert newest(one) == [(103, 2)], "from then on it counts"


def test_a_restart_whose_counts_are_larger_is_known_by_the_start_of_the_process() -> None:
    """A service that had just begun, and has more requests after the restart than before it."""
    old, new = (f"process_start_time_seconds {at}" for at in ("1.7e+09", "1700000007.5"))
    one = read(text(started=old, a=(50, 0)), text(started=new, a=(60, 20)))
    assert (newest(one), one.resets) == ([], 1)
    one = read(text(started=old, a=(50, 0)), text(started=old, a=(60, 20)))
    assert (newest(one), one.resets) == ([(30, 20)], 0)
    one = read(text(started=old, a=(50, 0)), text(a=(60, 20)))
    assert newest(one) == [(30, 20)], "not known any more"


def test_counts_with_the_time_stamp_of_before_say_nothing_new() -> None:
    """As of an endpoint that reads the service now and then: it may be gone meanwhile."""
    one = read(*[text(stamp="1700000000000", a=(100, 0))] * 3)
    assert (newest(one), one.bad) == ([], 0)
    stamped = [text(stamp=at, a=(n, 0)) for at, n in (("5", 100), ("5", 100), ("6", 130))]
    one = read(*stamped)
    assert [(w.n, w.length_ms) for w in one.windows("web", 0.1)] == [(30, 100)], "since the first"
    idle = read(text(stamp="5", a=(100, 0)), text(stamp="6", a=(100, 0)))
    assert newest(idle) == [(0, 0)], "no request came, and that was seen"


@pytest.mark.parametrize("target_ns", [1e6, 1.5e6])
def test_counts_of_which_some_were_read_earlier_make_no_window(target_ns: float) -> None:
    """Whether or not an edge is the target: p99 would be of a bucket that has a count below 0."""
    before = dict.fromkeys(EDGES, 0.0)
    torn = dict(zip(EDGES, (100.0, 100.0, 50.0, 120.0), strict=True))
    with pytest.raises(ValueError, match="read before others grew"):
        window(before, torn, 1000, target_ns)


def test_an_answer_that_came_since_the_look_began_has_no_age_below_zero() -> None:
    """No look has such an age, so that a record with one could not be replayed."""
    one = read(text(a=(100, 0)), text(a=(120, 1)))
    (newest, *_) = one.windows("web", 0.0499)
    assert newest.age_ms == 0.0
    assert Window.model_validate_json(newest.model_dump_json()) == newest


def test_without_a_finite_edge_p99_is_not_known() -> None:
    assert window({math.inf: 0.0}, {math.inf: 9.0}, 1000, 1e6).p99_ns is None


GOOD = text(a=(100, 3))


def says(head: str, body: bytes, version: str = "1.1") -> Callable[[socket.socket], None]:
    return lambda to: to.sendall(f"HTTP/{version} 200 OK\r\n{head}\r\n".encode() + body)


def chunked(body: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    parts = [body[at : at + 50] for at in range(0, len(body), 50)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + end


BODY = GOOD.encode()
CHUNKS, LENGTH = "Transfer-Encoding: chunked\r\n", f"Content-Length: {len(BODY)}\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        says("", BODY),
        says("", BODY, "1.0"),
        says(LENGTH, BODY),
        says("", BODY + b"# EOF\n"),
        says("", BODY + b"# EOF"),
        says(CHUNKS, chunked(BODY)),
        says("Content-Encoding: identity\r\n", BODY),
    ],
)
def test_a_whole_answer_is_read_in_each_form_of_http(
    answer: Callable[[socket.socket], None],
) -> None:
    with serving(answer) as url, contextlib.closing(source(url)) as one:
        one.open()
        one.read(time.monotonic())
        assert one._newest is not None
        assert one._newest.counts[math.inf] == 103


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (says(LENGTH, BODY[:-60]), "its answer was cut off"),
        (says("", BODY[:-3]), "its answer was cut off"),
        (says("", BODY[:-3], "1.0"), "its answer was cut off"),
        (says(CHUNKS, chunked(BODY, b"")), "IncompleteRead"),
        (says("Content-Encoding: gzip\r\n", b"\x1f\x8b" + BODY), "its answer is packed"),
    ],
)
def test_an_answer_that_is_not_whole_or_packed_is_refused(
    answer: Callable[[socket.socket], None], why: str
) -> None:
    """What is missing would be a series that is gone, or a number with fewer digits."""
    with serving(answer) as url, pytest.raises(HostFault, match=why):
        source(url).open()


@pytest.mark.parametrize(("target_ns", "is_refused"), [(5e6, False), (5.1e6, True)])
def test_a_histogram_that_cannot_show_a_late_request_is_refused(
    target_ns: float, *, is_refused: bool
) -> None:
    """Beyond the last edge p99 is that edge, so each p99 would be within the target."""
    with serving(says(LENGTH, BODY)) as url, contextlib.closing(source(url, target_ns)) as one:
        if is_refused:
            with pytest.raises(HostFault, match=r"the largest edge of t is 0.005 s, below the tar"):
                one.open()
        else:
            one.open()


def test_a_machine_without_a_thread_for_the_deadline_ends_no_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next answer is asked for when there is one again."""
    left = 3

    @contextlib.contextmanager
    def limited(wire: socket.socket, seconds: float) -> Iterator[None]:
        nonlocal left
        left -= 1
        if left in {0, 1}:
            raise RuntimeError("can't start new thread")
        with cut_after(wire, seconds):
            yield

    monkeypatch.setattr(scrape, "cut_after", limited)
    with serving(says(LENGTH, BODY)) as url, contextlib.closing(source(url)) as one:
        one.open()

        def is_back() -> bool:
            one.read(time.monotonic())
            return len(one._taken) >= 3

        assert until(is_back)
        assert one.bad == 2


def test_a_source_that_is_closed_waits_for_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reload closes it in the manager's own thread, which looks after nothing meanwhile."""
    monkeypatch.setattr(scrape, "ANSWER_S", 600.0)
    asked = threading.Event()
    heard: list[bytes | str] = []

    def answer(to: socket.socket) -> None:
        if not heard:
            heard.append("the first question")
            says(LENGTH, BODY)(to)
            return
        asked.set()
        to.settimeout(20)
        heard.append(to.recv(1))  # b"": the other end is closed

    with serving(answer) as url:
        one = source(url)
        one.open()
        assert asked.wait(20)
        one.close()
        assert until(lambda: heard[1:] == [b""])
