"""A name server that hangs is no reason to wait."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from sojourn.errors import HostFault
from sojourn.manage import scrape
from sojourn.manage.names import Names, connected
from sojourn.manage.scrape_test import GOOD, source
from sojourn.manage.testing import sends, serving

AT = "metrics.test"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A name server that does not answer until the end; which hosts it was asked for."""
    asked: list[str] = []
    ended, real = threading.Event(), socket.getaddrinfo

    def getaddrinfo(host: str, *args: Any, **more: Any) -> Any:
        if host != AT or more.get("flags", 0) & socket.AI_NUMERICHOST:
            return real(host, *args, **more)
        asked.append(host)
        ended.wait(60)
        return real("127.0.0.1", *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield asked
    ended.set()


def test_a_manager_that_reloads_does_not_wait_for_it(
    server: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrape, "ANSWER_S", 0.2)
    began_s = time.monotonic()
    with pytest.raises(HostFault, match=f"no name server has answered for {AT}"):
        source(f"http://{AT}:80/metrics").open()
    assert time.monotonic() - began_s < 30, "the server hangs for a minute"
    assert server == [AT]


def test_there_is_one_question_at_a_time_however_often_it_is_repeated(server: list[str]) -> None:
    one = Names(AT, 80)
    for _ in range(5):
        with pytest.raises(TimeoutError):
            one.addresses(0.01)
    assert server == [AT]


def test_an_address_in_digits_asks_nobody_and_a_name_is_connected(server: list[str]) -> None:
    assert [one[4][0] for one in Names("::1", 80).addresses(0.0)] == ["::1"]
    with pytest.raises(OSError, match="label"):
        Names("a..b", 80).addresses(20.0)
    with serving(sends("200 OK", GOOD)) as url:
        named = source(url.replace("127.0.0.1", "localhost"))
        named.open()
        named.close()
    assert not server


def test_the_next_address_is_tried_where_one_refuses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        free = socket.create_server(("127.0.0.1", 0))
        ports = free.getsockname()[1], listening.getsockname()[1]
        free.close()
        every = [Names("127.0.0.1", port).addresses(0.0)[0] for port in ports]
        connected(every, 20.0).close()
        with pytest.raises(ConnectionRefusedError):
            connected(every[:1], 20.0)
        with pytest.raises(TimeoutError):
            connected(every, 0.0)
