"""The way to a server: on which machine it ends, and why there is none."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from sojourn.services.clients import connect, reach, where
from sojourn.services.clients.where import Where
from sojourn.services.own.asked import Asked, RefusedError


def at(text: str) -> Where:
    return where.parse(text, at="t")


@pytest.mark.parametrize(
    ("text", "is_here"),
    [
        ("http://127.0.0.1:1/", True),
        ("http://127.1.2.3:1/", True),
        ("http://0.0.0.0:1/", True),
        ("http://localhost:1/", True),
        ("http://unix:/run/a:/", True),
        ("memcache://127.0.0.1:1,127.0.0.2:2", True),
        ("http://192.0.2.1:1/", False),
        ("memcache://127.0.0.1:1,192.0.2.1:2", False),
        ("http://no-such-host.invalid:1/", False),
    ],
)
def test_a_server_is_here_if_all_its_addresses_are(text: str, is_here: bool) -> None:  # noqa: FBT001
    assert reach.is_here(at(text)) == is_here


def test_a_name_with_an_address_elsewhere_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    reached = {"127.0.0.1": "127.0.0.1", "203.0.113.1": "198.51.100.7"}
    monkeypatch.setattr(reach, "_sources", lambda _: dict(reached))
    assert not reach.is_here(at("http://both:1/"))
    reached["203.0.113.1"] = ""  # no route leads there, as to ::1 where there is no IPv6
    assert reach.is_here(at("http://both:1/"))
    del reached["127.0.0.1"]
    assert not reach.is_here(at("http://both:1/"))


def failing(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize(
    ("number", "what", "fix"),
    [
        (errno.EADDRNOTAVAIL, "no local port is left", "ip_local_port_range"),
        (errno.EMFILE, "too many files", "ulimit"),
        (errno.EHOSTUNREACH, "no route", "check the address"),
        (errno.ECONNREFUSED, "nothing listens", "start the server"),
    ],
)
def test_why_no_connection_was_made_is_reported_with_its_own_fix(
    number: int, what: str, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> socket.socket:
        raise failing(number)

    monkeypatch.setattr(connect, "connected", refuse)
    with pytest.raises(RefusedError, match=what) as caught:
        Asked().prove(at("http://127.0.0.1:1/"))
    assert fix in caught.value.fix
    assert (number == errno.ECONNREFUSED) == ("start the server" in caught.value.fix)


def test_an_address_that_this_machine_has_not_is_no_lack_of_ports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reach, "_sources", lambda _: {"::1": ""})
    refused_error = reach.unreached(at("http://[::1]:1/"), failing(errno.EADDRNOTAVAIL))
    assert "no local port" not in refused_error.what


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_addresses_the_most_telling_error_is_reported(
    order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = [failing(errno.ECONNREFUSED), TimeoutError("timed out"), failing(errno.ENETUNREACH)]

    def refuse(*_: object, **__: object) -> socket.socket:
        raise ExceptionGroup("", errors[::order])

    monkeypatch.setattr(socket, "create_connection", refuse)
    with pytest.raises(ConnectionRefusedError):
        connect.connected(at("http://two:1/"), 1.0)
    del errors[0]
    with pytest.raises(TimeoutError):
        connect.connected(at("http://two:1/"), 1.0)
