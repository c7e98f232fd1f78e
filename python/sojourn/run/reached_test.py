"""Whether the service that was started is the one that clients reach."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.errors import HostFault
from sojourn.places import Address, ports
from sojourn.places.local import Local
from sojourn.run import reached
from sojourn.services.capabilities import Needs
from sojourn.services.kind import Endpoint

SLEEP = (sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)")


class Two:
    """A service on 127.0.0.1, and another program, this one, on the same port of ::1."""

    def __init__(self, other: socket.socket, own: subprocess.Popen[bytes], port: int) -> None:
        self.other, self.own, self.port = other, own, port

    def is_own(self, target: str, *, wanted: int = 0) -> bool:
        service = SimpleNamespace(
            endpoint=lambda _: Endpoint(target=target.format(port=self.port)),
            needs=lambda: Needs(port=wanted),
        )
        live: Any = SimpleNamespace(
            label="shop",
            argv=("vite",),
            port=self.port,
            address=Address(ports.HOST, self.port),
            place=Local(),
            service=service,
        )
        return reached.is_own(live, [self.own.pid], [self.port])


@pytest.fixture(name="two")
def _two(monkeypatch: pytest.MonkeyPatch) -> Iterator[Two]:
    monkeypatch.setattr(reached, "needs", lambda service: service.needs())
    own = socket.socket()
    with closing(socket.socket(socket.AF_INET6)) as other:
        try:
            other.bind(("::1", 0))
            own.bind((ports.HOST, other.getsockname()[1]))
        except OSError as error:
            own.close()
            pytest.skip(f"no port is free on both loopback addresses: {error}")
        other.listen()
        own.listen()
        with subprocess.Popen(SLEEP, pass_fds=[own.fileno()]) as made:
            own.close()
            yield Two(other, made, other.getsockname()[1])
            made.kill()


def resolves(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """Any name means this address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET

    def answer(name: str, port: int, *_: Any) -> list[Any]:
        del name
        at = (host, port, 0, 0) if ":" in host else (host, port)
        return [(family, socket.SOCK_STREAM, 6, "", at)]

    monkeypatch.setattr(socket, "getaddrinfo", answer)


def test_another_program_on_the_other_loopback_address_is_not_measured(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolves(monkeypatch, "::1")
    target = "http://localhost:{port}/"
    with pytest.raises(HostFault, match="same port of another address") as fault:
        two.is_own(target, wanted=two.port)
    assert f"(process {os.getpid()}) at [::1]:{two.port}" in fault.value.what
    assert "write 127.0.0.1 in target" in fault.value.fix
    assert not two.is_own(target), "any port will do, so another is taken"


def test_a_name_that_leads_to_the_service_is_the_service(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolves(monkeypatch, "127.0.0.1")
    for target in ("http://localhost:{port}/", "http://127.0.0.1:{port}/", "null:"):
        assert two.is_own(target, wanted=two.port)
    resolves(monkeypatch, "::1")
    two.other.close()  # no process listens, so no client arrives
    assert two.is_own("http://localhost:{port}/", wanted=two.port)


def hide(monkeypatch: pytest.MonkeyPatch, pid: int) -> None:
    """Keep the open files of a process from this one, as the kernel does from a user."""
    plain = Path.iterdir

    def closed(path: Path) -> Iterator[Path]:
        if str(path) == f"/proc/{pid}/fd":
            raise PermissionError(13, "Permission denied")
        return plain(path)

    monkeypatch.setattr(Path, "iterdir", closed)


@pytest.mark.parametrize(("uid", "fix"), [(1000, "run as root"), (0, "--cap-add SYS_PTRACE")])
def test_a_service_whose_open_files_are_hidden_has_not_lost_its_port(
    two: Two, monkeypatch: pytest.MonkeyPatch, uid: int, fix: str
) -> None:
    two.other.close()
    hide(monkeypatch, two.own.pid)
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    with pytest.raises(HostFault, match=f"hides the open files of process {two.own.pid}") as fault:
        two.is_own("http://127.0.0.1:{port}/")
    assert fix in fault.value.fix


def test_a_port_that_another_program_is_seen_to_have_is_lost(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(monkeypatch, two.own.pid)
    assert not two.is_own("http://127.0.0.1:{port}/")  # this program has it
