"""Each server: how it is started on a port, and how it is made to load its configuration again."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from servers import await_port, certificate

from sojourn.places import ports
from wire.endpoints import BIN
from wire.usual.configurations import APACHE, CADDY, HAPROXY, MODULES, NGINX, NODE

HOME = BIN.parent
ROOT, PYTHON = HOME / "root", HOME / "venv/bin/python"
APP = Path(__file__).parent
SECURE = ("https", "h2")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A server on a port.

    Attributes:
        scheme: http, https, h2, h2c or grpc.
        settings: what is not as it comes: lines of its configuration, or flags.
    """

    scheme: str
    port: int
    folder: Path
    settings: tuple[str, ...]

    @property
    def is_secure(self) -> bool:
        return self.scheme in SECURE

    def pem(self, name: str) -> str:
        return str(self.folder / f"{name}.pem")


@dataclass(frozen=True, slots=True)
class Running:
    """A server that listens.

    Attributes:
        reload: makes it read its configuration again, in the way that loses nothing.
    """

    port: int
    reload: Callable[[], None]


@contextlib.contextmanager
def _process(
    words: list[str],
    folder: Path,
    port: int,
    on_reload: int = 0,
    env: Mapping[str, str] | None = None,
) -> Iterator[Running]:
    with (folder / "said").open("ab") as text:
        process = subprocess.Popen(
            words,
            stdout=text,
            stderr=text,
            cwd=folder,
            start_new_session=True,
            env={**os.environ, **(env or {})},
        )
        try:
            await_port(port)
            yield Running(port, lambda: process.send_signal(on_reload))
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # its own session: none but its children
            process.wait(timeout=5)


def _settings(wanted: Wanted, indent: str = "    ") -> str:
    return f"\n{indent}".join(wanted.settings)


@contextlib.contextmanager
def nginx(wanted: Wanted) -> Iterator[Running]:
    how = {"https": " ssl", "h2": " ssl http2", "h2c": " http2"}.get(wanted.scheme, "")
    heads = " ".join(f"add_header X-Head-{nth} {'v' * 200};" for nth in range(20))
    text = NGINX.format(
        folder=wanted.folder, port=wanted.port, how=how, settings=_settings(wanted), heads=heads
    )
    (wanted.folder / "nginx.conf").write_text(text)
    words = ["/usr/sbin/nginx", "-e", str(wanted.folder / "error.log")]
    words += ["-c", str(wanted.folder / "nginx.conf"), "-p", str(wanted.folder)]
    with _process(words, wanted.folder, wanted.port, signal.SIGHUP) as running:
        yield running


@contextlib.contextmanager
def apache(wanted: Wanted) -> Iterator[Running]:
    lines = list(wanted.settings)
    if wanted.is_secure:
        lines += ["SSLEngine on", f"SSLCertificateFile {wanted.pem('cert')}"]
        lines += [f"SSLCertificateKeyFile {wanted.pem('key')}"]
    if wanted.scheme in {"h2", "h2c"}:
        lines += [f"Protocols {wanted.scheme} http/1.1"]
    folder = ROOT / "usr/lib/apache2/modules"
    modules = (f"LoadModule {name}_module {folder}/mod_{name}.so" for name in MODULES.split())
    text = APACHE.format(
        folder=wanted.folder,
        port=wanted.port,
        modules="\n".join(modules),
        settings="\n".join(lines),
        user="User nobody\nGroup nogroup" if os.geteuid() == 0 else "",
    )
    (wanted.folder / "apache.conf").write_text(text)
    words = [
        str(ROOT / "usr/sbin/apache2"),
        "-D",
        "FOREGROUND",
        "-f",
        f"{wanted.folder}/apache.conf",
    ]
    with _process(words, wanted.folder, wanted.port, signal.SIGUSR1, _libraries()) as running:
        yield running


@contextlib.contextmanager
def caddy(wanted: Wanted) -> Iterator[Running]:
    admin = ports.free()
    file = wanted.folder / "Caddyfile"
    text = CADDY.format(
        admin=admin,
        port=wanted.port,
        folder=wanted.folder,
        scheme="https" if wanted.is_secure else "http",
        h2c=" h2c" if wanted.scheme == "h2c" else "",
        tls=f"tls {wanted.pem('cert')} {wanted.pem('key')}" if wanted.is_secure else "",
    )
    file.write_text(text)
    program = str(ROOT / "usr/bin/caddy")
    again = [program, "reload", "--config", str(file), "--address", f"127.0.0.1:{admin}", "--force"]
    words = [program, "run", "--config", str(file)]
    # What it keeps goes into its own folder; `persist_config` is unknown to Debian's 2.6.
    env = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(wanted.folder))
    with _process(words, wanted.folder, wanted.port, 0, env) as running:
        yield Running(running.port, lambda: _once(again, wanted.folder))


@contextlib.contextmanager
def haproxy(wanted: Wanted) -> Iterator[Running]:
    """In front of NGINX, which ends idle connections before HAProxy does."""
    how = {
        "https": f" ssl crt {wanted.folder}/both.pem",
        "h2": f" ssl crt {wanted.folder}/both.pem alpn h2",
        "h2c": " proto h2",
    }.get(wanted.scheme, "")
    both = Path(wanted.pem("cert")).read_text() + Path(wanted.pem("key")).read_text()
    (wanted.folder / "both.pem").write_text(both)
    back = wanted.folder / "back"
    shutil.copytree(wanted.folder, back)
    with nginx(Wanted("http", ports.free(), back, ("keepalive_timeout 1s;",))) as behind:
        text = HAPROXY.format(
            port=wanted.port, how=how, back=behind.port, settings=_settings(wanted)
        )
        (wanted.folder / "haproxy.cfg").write_text(text)
        words = [str(ROOT / "usr/sbin/haproxy"), "-W", "-f", str(wanted.folder / "haproxy.cfg")]
        with _process(words, wanted.folder, wanted.port, signal.SIGUSR2, _libraries()) as running:
            yield running


@contextlib.contextmanager
def _python(
    module: str, wanted: Wanted, flags: list[str], secure: tuple[str, str], on_reload: int = 0
) -> Iterator[Running]:
    tls = [secure[0], wanted.pem("cert"), secure[1], wanted.pem("key")] if wanted.is_secure else []
    words = [str(PYTHON), "-m", module, *flags, *tls, *wanted.settings]
    env = {"PYTHONPATH": str(APP), "PYTHONDONTWRITEBYTECODE": "1"}
    with _process(words, wanted.folder, wanted.port, on_reload, env) as running:
        yield running


@contextlib.contextmanager
def uvicorn(wanted: Wanted) -> Iterator[Running]:
    flags = ["app:pages", "--port", str(wanted.port), "--log-level", "error"]
    with _python("uvicorn", wanted, flags, ("--ssl-certfile", "--ssl-keyfile")) as running:
        yield running


@contextlib.contextmanager
def hypercorn(wanted: Wanted) -> Iterator[Running]:
    flags = ["app:pages", "-b", f"127.0.0.1:{wanted.port}", "--log-level", "error"]
    with _python("hypercorn", wanted, flags, ("--certfile", "--keyfile")) as running:
        yield running


@contextlib.contextmanager
def gunicorn(wanted: Wanted) -> Iterator[Running]:
    flags = ["app:wsgi", "-b", f"127.0.0.1:{wanted.port}", "-w", "2", "--log-level", "error"]
    secure = ("--certfile", "--keyfile")
    with _python("gunicorn", wanted, flags, secure, signal.SIGHUP) as running:
        yield running


@contextlib.contextmanager
def aiohttp(wanted: Wanted) -> Iterator[Running]:
    pems = [wanted.pem("cert"), wanted.pem("key")] if wanted.is_secure else ["", ""]
    keepalive_s = wanted.settings[0] if wanted.settings else "0"
    words = [str(PYTHON), str(APP / "by_aiohttp.py"), str(wanted.port), *pems, keepalive_s]
    with _process(words, wanted.folder, wanted.port) as running:
        yield running


@contextlib.contextmanager
def grpcio(wanted: Wanted) -> Iterator[Running]:
    age_ms, size = wanted.settings or ("0", "5")
    words = [str(PYTHON), str(APP / "by_grpcio.py"), str(wanted.port), age_ms, size]
    with _process(words, wanted.folder, wanted.port) as running:
        yield running


@contextlib.contextmanager
def node(wanted: Wanted) -> Iterator[Running]:
    keep = wanted.settings[0] if wanted.settings else "0"
    module = {"https": "https", "h2": "http2"}.get(wanted.scheme, "http")
    text = NODE.replace("SCHEME", repr(module)).replace("PORT", str(wanted.port))
    text = text.replace("KEEP", keep).replace("READ(", "require('fs').readFileSync(")
    text = text.replace("createServer", "createSecureServer") if module == "http2" else text
    (wanted.folder / "server.js").write_text(text)
    words = [shutil.which("node") or "node", str(wanted.folder / "server.js")]
    with _process(words, wanted.folder, wanted.port) as running:
        yield running


def _libraries() -> dict[str, str]:
    return {"LD_LIBRARY_PATH": str(ROOT / "usr/lib/x86_64-linux-gnu")}


def _once(words: list[str], folder: Path) -> None:
    with (folder / "said").open("ab") as text:
        subprocess.run(words, check=False, stdout=text, stderr=text, timeout=30)


#: How each is started, and the file without which it is left out.
SERVERS: Mapping[
    str, tuple[Callable[[Wanted], contextlib.AbstractContextManager[Running]], Path]
] = {
    "nginx": (nginx, Path("/usr/sbin/nginx")),
    "apache": (apache, ROOT / "usr/sbin/apache2"),
    "caddy": (caddy, ROOT / "usr/bin/caddy"),
    "haproxy": (haproxy, ROOT / "usr/sbin/haproxy"),
    "uvicorn": (uvicorn, PYTHON.parent / "uvicorn"),
    "hypercorn": (hypercorn, PYTHON.parent / "hypercorn"),
    "gunicorn": (gunicorn, PYTHON.parent / "gunicorn"),
    "aiohttp": (aiohttp, PYTHON),
    "grpcio": (grpcio, PYTHON),
    "node": (node, Path(shutil.which("node") or "/usr/bin/node")),
}


@contextlib.contextmanager
def started(name: str, scheme: str, settings: tuple[str, ...]) -> Iterator[Running]:
    """The server `name` on a free port, with a certificate of its own."""
    with tempfile.TemporaryDirectory(prefix="sojourn-usual-") as home:
        folder = Path(home)
        folder.chmod(0o755)
        (folder / "www").mkdir()
        (folder / "www/index.html").write_bytes(b"hello")
        (folder / "www/4k").write_bytes(b"x" * 4096)
        certificate(folder)
        (folder / "key.pem").chmod(0o644)
        with SERVERS[name][0](Wanted(scheme, ports.free(), folder, settings)) as running:
            yield running
