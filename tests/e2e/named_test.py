"""What a study and `sojourn try` name: files, secrets, hosts; as a real server hears them."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import samples, spec
from sojourn.errors import Exit
from sojourn.plan import Point
from sojourn.services.clients import where
from sojourn.services.own.asked import Asked, RefusedError
from sojourn.spec import Study

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("turn")]

Measure = Callable[[Study, Point], Path]
TOKEN = "abcdef"  # noqa: S105  # of a server that lives as long as a test
SECRET = "TOKEN_OF_A_TEST"  # noqa: S105  # the name of a variable
ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Web:
    """A server, what it wants, and what it heard."""

    port: int = 0
    wants: str = ""
    delay_s: float = 0.0
    hosts: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    bodies: set[bytes] = field(default_factory=set)


@pytest.fixture(name="web")
def _web() -> Iterator[Web]:
    """One on 127.0.0.1 alone."""
    made = Web()

    class Pages(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            made.hosts.add(str(self.headers["Host"]))
            made.paths.add(self.path)
            made.bodies.add(self.rfile.read(length))
            time.sleep(made.delay_s)
            is_right = not made.wants or self.headers.get("Authorization") == made.wants
            self.send_response(200 if is_right else 401)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        do_POST = do_GET  # noqa: N815  # as the library calls it

        def log_message(self, *_: object) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 64
        daemon_threads = True

    with Server(("127.0.0.1", 0), Pages) as server:
        made.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield made
        server.shutdown()
    thread.join(20)


def study(folder: Path, target: str, load: str) -> Study:
    folder.mkdir(exist_ok=True)
    path = folder / "own.toml"
    path.write_text(
        'name = "own"\nquestion = "?"\nprobe = "0"\n[run]\nprofile = "quick"\n'
        '[[services]]\nkind = "external"\nlabel = "own"\nmeasure = ["sweep"]\n'
        f'[services.params]\ntarget = "{target}"\n'
        f'[services.load]\nconnections = 4\nwait = "sleep"\n{load}'
    )
    return spec.load(path)


def calm(point: Point) -> Point:
    """The same at a load that any machine can offer."""
    return replace(point, offered_rps=100.0, measure_s=1.5)


def read(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((folder / "load.json").read_text())
    return table


@pytest.mark.parametrize(
    "auth", ["bearer:file:tok.txt", f"bearer:env:{SECRET}"], ids=["file", "variable"]
)
def test_files_are_found_beside_the_study_and_the_secret_where_it_is_named(
    lab: SimpleNamespace,
    measure: Measure,
    web: Web,
    tmp_path: Path,
    auth: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    web.wants = f"Bearer {TOKEN}"
    folder = tmp_path / "mine"
    load = f'auth = "{auth}"\nmethod = "POST"\npaths_file = "p.txt"\nbody_file = "b"\n'
    asked = study(folder, f"http://127.0.0.1:{web.port}/", load)
    (folder / "tok.txt").write_text(TOKEN)
    (folder / "p.txt").write_text("/one\n/two\n")
    (folder / "b").write_bytes(b"body")
    monkeypatch.setenv(SECRET, TOKEN)
    monkeypatch.chdir("/")
    point = measure(asked, calm(lab.point("own")))
    assert lab.wrong(point) == {}
    assert {"/one", "/two"} <= web.paths
    assert b"body" in web.bodies
    everything = b"".join(path.read_bytes() for path in point.rglob("*") if path.is_file())
    assert TOKEN.encode() not in everything, "a record names where a secret is, and holds none"


def sojourn(*words: str, before: tuple[str, ...] = (), **variables: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the program, started in its own process."""
    done = subprocess.run(
        [*before, sys.executable, "-m", "sojourn", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        stdin=subprocess.DEVNULL,
    )
    return done.returncode, done.stdout, done.stderr


def in_order(tmp_path: Path) -> tuple[str, ...]:
    """Words that start a program where `localhost` is ::1 first, then 127.0.0.1."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare for a mount namespace of its own")
    hosts = tmp_path / "hosts"
    hosts.write_text("::1 localhost\n127.0.0.1 localhost\n")
    script = f'mount --bind {hosts} /etc/hosts && exec "$@"'
    words = ("unshare", "-m", "sh", "-c", script, "sh")
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to make a mount namespace")
    return words


def test_localhost_that_is_ipv6_first_stays_localhost(web: Web, tmp_path: Path) -> None:
    before = in_order(tmp_path)
    target = f"http://localhost:{web.port}/"
    code, out, err = sojourn("init", target, "-o", "-", before=before)
    assert code == Exit.OK, err
    assert f'target = "{target}"' in out
    code, out, err = sojourn("try", target, "--rates", "50", before=before)
    assert code in {Exit.OK, Exit.UNKNOWN}, err + out
    assert f"requests/s: {target}" in " ".join(out.split()), out + err
    assert web.hosts == {f"localhost:{web.port}"}


def test_a_service_that_takes_a_second_for_each_reply_is_measured(
    lab: SimpleNamespace, measure: Measure, web: Web, tmp_path: Path
) -> None:
    web.delay_s = 1.2  # longer than the shortest timeout of a study
    asked = study(tmp_path / "mine", f"http://127.0.0.1:{web.port}/", "")
    point = replace(calm(lab.point("own")), offered_rps=2.0, measure_s=4.0)
    folder = measure(asked, point)
    assert lab.wrong(folder) == {}
    assert samples.read(folder).lost == 0
    assert read(folder)["sojourn_ns"]["p50"] >= 1.2e9


@pytest.fixture(name="certificate", scope="module")
def _certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl: apt install openssl")
    folder = tmp_path_factory.mktemp("tls")
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    issuer = ["-subj", "/CN=issuer", "-keyout", "ca.key", "-out", "ca.pem"]
    # fmt: off
    own = ["-CA", "ca.pem", "-CAkey", "ca.key", "-subj", "/CN=localhost", "-addext",
           "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE",
           "-keyout", "key.pem", "-out", "cert.pem"]
    # fmt: on
    for words in (issuer, own):
        subprocess.run([*new, *words], cwd=folder, check=True, capture_output=True)
    return folder


# Over TLS, and in a process of its own: a client that does not believe it hangs up in its midst.
SECURED = """
import http.server, socket, ssl, sys
class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")
    def log_message(self, *_):
        pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True
    def finish_request(self, request, client):
        request.settimeout(20)
        with context.wrap_socket(request, server_side=True) as secured:
            secured.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            super().finish_request(secured, client)
    def handle_error(self, *_):
        pass
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
if "strict" in sys.argv:
    context.load_verify_locations("ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
with Server(("127.0.0.1", 0), Pages) as server:
    print(server.server_port, flush=True)
    server.serve_forever()
"""


@pytest.fixture(name="secured")
def _secured(certificate: Path, request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of a server whose issuer no one knows; "strict": it wants to know its client."""
    words = [sys.executable, "-c", SECURED, getattr(request, "param", "")]
    with subprocess.Popen(words, cwd=certificate, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield int(server.stdout.readline())
        server.kill()


@pytest.mark.parametrize("way", ["--insecure", "--ca-file", "SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_a_certificate_of_ones_own_is_believed_where_it_is_named(
    secured: int, certificate: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(certificate)  # names are relative to where it is typed
    words = {"--insecure": ["--insecure"], "--ca-file": ["--ca-file", "ca.pem"]}.get(way, [])
    variables = {"SSL_CERT_FILE": {way: "ca.pem"}, "SSL_CERT_DIR": {way: "."}}.get(way, {})
    target = f"https://localhost:{secured}/"
    code, out, err = sojourn("try", target, "--rates", "50", *words, **variables)
    assert code in {Exit.OK, Exit.UNKNOWN}, err + out
    assert f"requests/s: {target}" in " ".join(out.split()), out + err


def test_a_certificate_that_is_not_believed_is_reported_without_files_that_are_gone(
    secured: int,
) -> None:
    code, _, err = sojourn("try", f"https://localhost:{secured}/", "--rates", "50")
    assert code in {Exit.USAGE, Exit.FAILED, Exit.UNKNOWN}
    assert "--insecure" in err
    assert "load.job.json" not in err
    assert "sojourn-" not in err.replace("sojourn-load", "")


@pytest.mark.parametrize("secured", ["strict"], indirect=True)
def test_a_server_that_wants_to_know_its_client_is_given_the_certificate(
    secured: int, certificate: Path
) -> None:
    at = where.parse(f"https://localhost:{secured}/", at="target")
    with pytest.raises(RefusedError, match="asks for the client's certificate") as caught:
        Asked().prove(at)
    assert "--cert FILE --key FILE" in caught.value.fix
    load = {"cert": str(certificate / "cert.pem"), "key": str(certificate / "key.pem")}
    known = Asked().examined(load, 0.0)
    assert known.prove(at).bytes == 5
    assert known.answers(at, 5.0)
