"""A warden that is killed, whatever was on its way to it."""

from __future__ import annotations

import signal
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.places.process import Process


@pytest.mark.parametrize("is_addressed", [True, False])
def test_a_warden_that_was_killed_has_ended(*, is_addressed: bool) -> None:
    """With a signal that it has not read, the kernel resets the connection."""
    own, its = socket.socketpair()
    warden: Any = SimpleNamespace(wait=lambda _: 0, stderr=None)
    ledger: Any = SimpleNamespace()
    made = Process("memcached", warden, own, ledger)
    if is_addressed:
        made.send(signal.SIGTERM)
    its.close()
    ended = made.poll(1.0)
    assert ended is not None
    assert ended.text == "was killed by SIGKILL"
    assert not ended.is_clean
