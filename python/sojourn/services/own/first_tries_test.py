"""A first request that is cut off refuses no service, and is said."""

from __future__ import annotations

import http.client
import itertools
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from sojourn.places import ports
from sojourn.services.clients.testing_servers import Replies, memcached, redis, serving, web, web2
from sojourn.services.clients.where import Where
from sojourn.services.own.asked import Asked, RefusedError
from sojourn.services.own.first_tries import CUT, TRIES, Tries, is_cut

RESET = ConnectionResetError("reset")


@pytest.fixture(name="serve")
def _serve() -> Iterator[Callable[..., Where]]:
    with ExitStack() as stack:

        def start(replies: Replies, scheme: str) -> Where:
            made = serving(replies, b"", socket.AF_INET, (ports.HOST, 0))
            port = stack.enter_context(made).getsockname()[1]
            return Where(scheme=scheme, host=ports.HOST, port=port)

        yield start


def cutting(replies: Replies, *cut: int) -> Replies:
    """The same server, which hangs up instead of these answers."""
    numbers = itertools.count()
    return lambda heard: b"" if next(numbers) in cut else replies(heard)


@pytest.mark.parametrize(
    ("replies", "scheme", "cut"),
    [(web, "http", 0), (web, "http", 1), (web, "http", 2), (web2, "h2c", 1), (web2, "grpc", 0),
     (redis, "resp", 0), (memcached, "memcache", 0), (lambda _: b"S", "postgres", 0)],
)  # fmt: skip
def test_one_first_request_that_is_cut_off_refuses_no_service_and_is_said(
    replies: Replies, scheme: str, cut: int, serve: Callable[..., Where]
) -> None:
    proof = Asked().prove(serve(cutting(replies, cut), scheme))
    assert dict(proof.facts)[CUT].startswith("1 of ")
    assert "was cut off" in dict(proof.facts)[CUT]
    assert CUT not in dict(Asked().prove(serve(replies, scheme)).facts)


def test_a_reply_that_is_cut_in_its_body_counts_too(serve: Callable[..., Where]) -> None:
    numbers = itertools.count()

    def replies(heard: bytes) -> bytes:
        whole = web(heard)
        return whole if next(numbers) else whole[:-2]

    proof = Asked().prove(serve(replies, "http"))
    assert (proof.bytes, dict(proof.facts)[CUT][:6]) == (5, "1 of 4")


def test_a_request_that_is_cut_off_every_time_is_refused_with_how_often(
    serve: Callable[..., Where],
) -> None:
    with pytest.raises(RefusedError, match=f"{TRIES} times in a row"):
        Asked().prove(serve(cutting(web, *range(TRIES)), "http"))


@pytest.mark.parametrize(
    ("error", "wanted"),
    [(RESET, True), (BrokenPipeError(), True), (http.client.RemoteDisconnected("x"), True),
     (ssl.SSLEOFError(), True), (http.client.IncompleteRead(b""), True),
     (ConnectionRefusedError(), False), (TimeoutError(), False),
     (http.client.BadStatusLine("x"), False), (OSError(), False)],
)  # fmt: skip
def test_only_what_ended_early_is_asked_again(error: Exception, *, wanted: bool) -> None:
    assert is_cut(error) is wanted
    tries = Tries()

    def ask() -> None:
        raise error

    with pytest.raises(type(error)):
        tries.again(ask)
    assert tries.made == (TRIES if wanted else 1)
    assert (tries.cut, bool(tries.facts)) == ((TRIES, True) if wanted else (0, False))


def test_what_was_cut_off_before_is_no_row_of_the_next_request() -> None:
    tries = Tries()
    answers = iter([b"", b"PONG", b"", b"", b""])
    assert tries.heard(lambda: next(answers)) == b"PONG"
    assert tries.in_a_row == ""
    assert tries.heard(lambda: next(answers)) == b""
    assert (tries.cut, tries.made, tries.in_a_row) == (4, 5, ", 3 times in a row")
