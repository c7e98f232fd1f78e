"""What is reported of clients with too many slow requests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sojourn.hosts import joined
from sojourn.hosts.tail import Tail


def tail(beyond: int, *, is_named: bool = False, is_unequal: bool = False) -> Tail:
    return Tail(
        beyond=beyond,
        factor=9.0,
        p=1e-9,
        steadiness=5.0,
        is_unequal=is_unequal or is_named,
        is_named=is_named,
    )


def texts(*each: Tail) -> list[str]:
    crew: Any = [None] * len(each)
    parts: Any = [
        SimpleNamespace(member=SimpleNamespace(node=SimpleNamespace(text=f"host{nth}")))
        for nth in range(len(each))
    ]
    return joined._slow(crew, parts, {0.99: each})


def test_a_client_that_is_slow_all_the_time_is_named_with_what_else_may_be_slow() -> None:
    (text,) = texts(tail(10), tail(90, is_named=True))
    assert text == (
        "client slow: client 2 of 2, on host1, has 90% of the requests above p99, 9.0 times as "
        "often as the others, so it, its network or its server thread is slow; measure without it"
    )


def test_a_client_with_a_few_long_stalls_is_not_called_slow() -> None:
    (text,) = texts(tail(10), tail(90, is_unequal=True))
    assert text.startswith("clients unequal: client 2 of 2, on host1, has 90% of the requests")
    assert text.endswith("as a few long stalls of it or of the server give; measure longer")
    assert "client slow" not in text
    assert not texts(tail(50), tail(50))
