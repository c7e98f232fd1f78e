"""How each server is started: proxies, Python with threads, a 32-bit program, a container."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers import await_port
from wire.endpoints import started as endpoint
from wire.usual.servers import HOME, ROOT

from sojourn.places import ports
from waiting import texts

PLANTED_MS = 5.0
RING = Path(__file__).parents[3] / "crates/trace/tests/servers/ring.c"
PYTHON_PATH = Path(__file__).parents[3] / "python"


@dataclass(frozen=True, slots=True)
class Server:
    """A server with its planted wait.

    Attributes:
        asked: target and flags of the load.
        within: words before the tracer's, such as those that enter a namespace.
    """

    pid: int
    asked: tuple[str, ...]
    within: tuple[str, ...] = ()


def running(stack: ExitStack, words: list[str], folder: Path, port: int, **how: Any) -> int:
    """Starts a program that is ended with the stack, once it listens."""
    text = stack.enter_context((folder / "said").open("ab"))
    process = subprocess.Popen(
        words, stdout=text, stderr=text, cwd=folder, start_new_session=True, **how
    )

    def end() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=10)

    stack.callback(end)
    await_port(port)
    return process.pid


def upstream(stack: ExitStack, folder: Path, kind: str) -> int:
    port = ports.free()
    words = [sys.executable, "-c", texts.UPSTREAM, str(port), kind, str(PLANTED_MS / 1e3)]
    running(stack, words, folder, port)
    return port


def proxy(program: str, file: str, text: str, flags: list[str], kind: str = "http") -> Any:
    """A proxy with this configuration before an upstream that takes its time."""

    def start(stack: ExitStack, folder: Path) -> Server:
        port, back = ports.free(), upstream(stack, folder, kind)
        (folder / file).write_text(text.format(port=port, back=back, folder=folder))
        env = {**os.environ, "LD_LIBRARY_PATH": str(ROOT / "usr/lib/x86_64-linux-gnu")}
        pid = running(stack, [program, *flags, str(folder / file)], folder, port, env=env)
        if kind == "http":
            return Server(pid, (f"http://127.0.0.1:{port}/",))
        return Server(pid, (f"resp://127.0.0.1:{port}", "--value-size", "5", "--items", "10"))

    return start


def threaded(work: str, before: str = "", per: str = "") -> Any:
    """A Python server with a thread for each connection that does this for each request."""

    def start(stack: ExitStack, folder: Path) -> Server:
        port = ports.free()
        text = texts.THREADED.replace("BEFORE", textwrap.dedent(before).strip() or "pass")
        for name, code in (("PER", per), ("WORK", work)):
            line = next(line for line in text.splitlines() if line.strip() == name)
            indent = line[: -len(name)]
            text = text.replace(
                line, textwrap.indent(textwrap.dedent(code).strip() or "pass", indent)
            )
        text = text.replace("WAIT", str(PLANTED_MS / 1e3)).replace("FOLDER", repr(str(folder)))
        (folder / "server.py").write_text(text)
        words = [sys.executable, str(folder / "server.py"), str(port)]
        env = {**os.environ, "PYTHONPATH": str(PYTHON_PATH)}
        return Server(running(stack, words, folder, port, env=env), (f"http://127.0.0.1:{port}/",))

    return start


def database(stack: ExitStack, folder: Path) -> Server:
    """A Python server that asks a PostgreSQL of its own for each request."""
    at = stack.enter_context(endpoint("postgres", 0))
    per = f"""
    from sojourn.places import Address
    from sojourn.services.tpcc import cluster
    from sojourn.services.clients.sql import Sql
    sql = Sql(Address("127.0.0.1", {at.port}), cluster.USER, cluster.DATABASE, within_s=5.0)
    """
    return threaded("sql.ask('SELECT pg_sleep(WAIT)')", per=per)(stack, folder)


def go_386(stack: ExitStack, folder: Path) -> Server:
    """A server of Go as a 32-bit program."""
    port = ports.free()
    (folder / "main.go").write_text(texts.GO.replace("WAIT", f"{int(PLANTED_MS * 1e6)}"))
    env = {**os.environ, "GOARCH": "386", "CGO_ENABLED": "0", "GOCACHE": str(HOME / "gocache")}
    words = ["go", "build", "-o", str(folder / "server"), str(folder / "main.go")]
    subprocess.run(words, check=True, env=env, timeout=300)
    pid = running(stack, [str(folder / "server"), str(port)], folder, port)
    return Server(pid, (f"http://127.0.0.1:{port}/",))


def ring(stack: ExitStack, folder: Path) -> Server:
    """The tests' server that receives and sends by io_uring; it sleeps before each reply."""
    text, reply = RING.read_text(), "done(IORING_OP_SEND, fd, bytes, 1)"
    if reply not in text:
        raise ValueError(f"{RING} answers in another way than it did")
    sleeps = f"(usleep({PLANTED_MS * 1e3:.0f}), {reply.replace('1)', 'sizeof(bytes))')})"
    (folder / "ring.c").write_text(text.replace(reply, sleeps))
    words = ["gcc", "-o", str(folder / "ring"), str(folder / "ring.c")]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    process = subprocess.Popen([str(folder / "ring")], stdout=subprocess.PIPE, text=True)
    stack.callback(process.wait, 10)
    stack.callback(process.kill)
    port = process.stdout.readline().strip() if process.stdout else ""
    if not port:
        raise RuntimeError("this kernel does not let it use io_uring")
    return Server(process.pid, (f"echo://127.0.0.1:{port}", "--value-size", "20"))


def contained(stack: ExitStack, folder: Path) -> Server:
    """The server that sleeps under a lock, in a PID namespace with the tracer inside it."""
    port = ports.free()
    text = texts.THREADED.replace("BEFORE", "pass").replace("PER", "pass")
    text = text.replace("WORK", f"time.sleep({PLANTED_MS / 1e3})")
    (folder / "server.py").write_text(text)
    words = ["unshare", "-pf", "--mount-proc", sys.executable, str(folder / "server.py"), str(port)]
    running(stack, words, folder, port)
    inside = subprocess.run(
        ["pgrep", "-f", f"{folder}/server.py {port}"], check=True, capture_output=True, text=True
    ).stdout.split()
    enter = ("nsenter", "-p", "-m", "-t", inside[-1])
    return Server(1, (f"http://127.0.0.1:{port}/",), enter)
