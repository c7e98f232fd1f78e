from __future__ import annotations

import contextlib
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread

import pytest

from sojourn.errors import SpecFault
from sojourn.places import ports
from sojourn.services.clients import connect
from sojourn.services.clients.reach import RefusedError
from sojourn.services.clients.where import Where, parse
from sojourn.services.own.asked import Asked

TLS = Path(__file__).parents[4] / "crates/load/tests/tls"
CERT, KEY, OTHER = (str(TLS / name) for name in ("server.pem", "server.key", "issuer.pem"))


@pytest.fixture
def encrypted(tmp_path: Path) -> str:
    at = tmp_path / "encrypted.key"
    words = ["openssl", "ec", "-in", KEY, "-aes256", "-passout", "pass:secret", "-out", str(at)]
    try:
        subprocess.run(words, check=True, capture_output=True, timeout=30)
    except FileNotFoundError:
        pytest.skip("no openssl is installed, which encrypts a key")
    return str(at)


def test_a_certificate_and_its_key_are_of_use() -> None:
    assert connect.identity_doubt((CERT, KEY)) == ""
    assert connect.identity_doubt(()) == ""


@pytest.mark.parametrize(
    ("identity", "why"),
    [
        ((OTHER, KEY), "do not belong together"),
        ((KEY, CERT), "not in PEM, or is the other"),
        ((CERT, CERT), "not in PEM, or is the other"),
        ((CERT, "/no/such.key"), "No such file"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_reported_before_it_is_asked(
    identity: tuple[str, str], why: str
) -> None:
    assert why in connect.identity_doubt(identity)
    load = dict(zip(("cert", "key"), identity, strict=True))
    with pytest.raises(SpecFault, match=why) as caught:
        Asked().examined(load, 0.0)
    assert identity[0] in caught.value.what
    service = replace(Asked(), identity=identity)  # was right when the study began
    assert not service.answers(parse("https://127.0.0.1:1/", at=""), 0.1)


def test_an_encrypted_key_is_refused_and_no_password_is_asked_for(encrypted: str) -> None:
    assert "encrypted" in connect.identity_doubt((CERT, encrypted))


@pytest.fixture(name="asking", scope="module")
def _asking() -> Iterator[int]:
    """The port of a server of TLS that takes only clients with a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERT, KEY)
    context.load_verify_locations(OTHER)
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["h2", "http/1.1"])

    class Handshake(BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                context.wrap_socket(self.request, server_side=True).close()

    with ThreadingTCPServer((ports.HOST, 0), Handshake) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        yield int(server.server_address[1])
        server.shutdown()


@pytest.mark.parametrize("scheme", ["https", "h2", "grpcs", "rediss"])
def test_a_server_that_asks_for_a_certificate_is_named_as_that(asking: int, scheme: str) -> None:
    """Redis asks for one unless it is configured not to, and seemed to be silent."""
    at = Where(scheme=scheme, host=ports.HOST, port=asking, path="/a.B/C")
    with pytest.raises(RefusedError, match="asks for the client's certificate") as caught:
        Asked().prove(at)
    assert "--cert FILE --key FILE" in caught.value.fix


def test_a_server_on_a_socket_has_a_name_for_tls(tmp_path: Path) -> None:
    at = Where(scheme="https", socket=tmp_path / "none")
    assert at.server_name == "localhost"
    assert parse("https://h/", at="").server_name == "h"
