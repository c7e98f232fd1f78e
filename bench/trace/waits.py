"""What service waits are put down to, of real servers, beside a truth that was planted.

A request cannot be answered before a planted time has gone by in one place: behind a proxy
(HAProxy, NGINX, twemproxy), in a database, under a lock, in a pool, in pages that are not in
memory. Right is what finds that time, and at least half of the whole, in the stage of that place,
and little work.
There are a 32-bit server and one in a container, too. Servers that are not there are left out, and
named.

    bench/wire/usual/setup && sudo .venv/bin/python bench/trace/waits.py [--seconds 4] [--only NAME]

Prints a table; exit 1 if a row is wrong. Raw results are kept under bench/trace/runs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from servers import await_port
from wire.endpoints import started as endpoint
from wire.usual.servers import HOME, ROOT

from sojourn.places import ports

HERE = Path(__file__).parent
PLANTED_MS = 5.0
RATE = 40  # requests/s, one at a time
SHORT = 0.9  # of what was planted: timers may be early by a tick, and the first bytes late
WORK_MAX = 0.25  # of the time, where the server waits
PYTHON = str(HOME / "venv/bin/python")
#: Answers HTTP or RESP after the planted time; `sleep` says how.
UPSTREAM = """
import asyncio, sys
port, kind, wait = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
async def serve(reader, writer):
    try:
        while True:
            if kind == "http":
                await reader.readuntil(b"\\r\\n\\r\\n")
                reply = b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello"
            else:
                for _ in range(2 * int((await reader.readline())[1:])):
                    await reader.readline()
                reply = b"$5\\r\\nhello\\r\\n"
            await asyncio.sleep(wait)
            writer.write(reply)
    except (asyncio.IncompleteReadError, ConnectionError, ValueError):
        writer.close()
async def main():
    async with await asyncio.start_server(serve, "127.0.0.1", port) as server:
        await server.serve_forever()
asyncio.run(main())
"""
#: A threaded server of HTTP whose requests do what is put in for WORK.
THREADED = """
import socket, sys, threading, time, mmap, os, queue
lock, jobs = threading.Lock(), queue.Queue()
BEFORE
def serve(stream):
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    PER
    while True:
        head = b""
        while not head.endswith(b"\\r\\n\\r\\n"):
            part = stream.recv(4096)
            if not part:
                return
            head += part
        WORK
        stream.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello")
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=64)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
GO = """
package main
import ("fmt"; "net/http"; "os"; "time")
func main() {
    http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
        time.Sleep(WAIT); fmt.Fprint(w, "hello")
    })
    http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
"""
HAPROXY = """
defaults
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s
frontend front
    bind 127.0.0.1:{port}
    default_backend back
backend back
    server one 127.0.0.1:{back}
"""
NGINX = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/a;
    proxy_temp_path {folder}/b;
    fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d;
    scgi_temp_path {folder}/e;
    upstream back {{ server 127.0.0.1:{back}; keepalive 4; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://back;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }}
    }}
}}
"""
TWEMPROXY = """
pool:
  listen: 127.0.0.1:{port}
  hash: fnv1a_64
  distribution: ketama
  redis: true
  servers:
   - 127.0.0.1:{back}:1
"""


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


@dataclass(frozen=True, slots=True)
class Plant:
    """What is planted where.

    Attributes:
        stages: any of which may have the time; together they must.
        is_work: it is work, not a wait.
        needs: a file without which it is left out.
    """

    name: str
    start: Callable[[ExitStack, Path], Server]
    stages: tuple[str, ...]
    is_work: bool = False
    needs: Path = Path("/")
    ways: tuple[tuple[str, ...], ...] = (("--all",),)


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    way: str
    planted_ms: float
    seen_ms: float
    found_ms: float
    work: float
    verdict: str
    answer: str
    is_right: bool
    stages_ms: dict[str, float] = field(default_factory=dict)


def running(stack: ExitStack, words: list[str], folder: Path, port: int, **how: Any) -> int:
    """Starts a program that is ended with the stack, once it listens."""
    said = stack.enter_context((folder / "said").open("ab"))
    process = subprocess.Popen(
        words, stdout=said, stderr=said, cwd=folder, start_new_session=True, **how
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
    words = [sys.executable, "-c", UPSTREAM, str(port), kind, str(PLANTED_MS / 1e3)]
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
        text = THREADED.replace("BEFORE", textwrap.dedent(before).strip() or "pass")
        for name, code in (("PER", per), ("WORK", work)):
            line = next(line for line in text.splitlines() if line.strip() == name)
            indent = line[: -len(name)]
            text = text.replace(
                line, textwrap.indent(textwrap.dedent(code).strip() or "pass", indent)
            )
        text = text.replace("WAIT", str(PLANTED_MS / 1e3)).replace("FOLDER", repr(str(folder)))
        (folder / "server.py").write_text(text)
        words = [sys.executable, str(folder / "server.py"), str(port)]
        env = {**os.environ, "PYTHONPATH": str(HERE.parents[1] / "python")}
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
    (folder / "main.go").write_text(GO.replace("WAIT", f"{int(PLANTED_MS * 1e6)}"))
    env = {**os.environ, "GOARCH": "386", "CGO_ENABLED": "0", "GOCACHE": str(HOME / "gocache")}
    words = ["go", "build", "-o", str(folder / "server"), str(folder / "main.go")]
    subprocess.run(words, check=True, env=env, timeout=300)
    pid = running(stack, [str(folder / "server"), str(port)], folder, port)
    return Server(pid, (f"http://127.0.0.1:{port}/",))


def contained(stack: ExitStack, folder: Path) -> Server:
    """The server that sleeps under a lock, in a PID namespace with the tracer inside it."""
    port = ports.free()
    text = THREADED.replace("BEFORE", "pass").replace("PER", "pass")
    text = text.replace("WORK", f"time.sleep({PLANTED_MS / 1e3})")
    (folder / "server.py").write_text(text)
    words = ["unshare", "-pf", "--mount-proc", sys.executable, str(folder / "server.py"), str(port)]
    running(stack, words, folder, port)
    inside = subprocess.run(
        ["pgrep", "-f", f"{folder}/server.py {port}"], check=True, capture_output=True, text=True
    ).stdout.split()
    enter = ("nsenter", "-p", "-m", "-t", inside[-1])
    return Server(1, (f"http://127.0.0.1:{port}/",), enter)


MAJOR = """
    file = os.open(FOLDER + "/pages", os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    with mmap.mmap(file, 0, prot=mmap.PROT_READ) as pages:
        pages.madvise(mmap.MADV_RANDOM)
        sum(pages[at] for at in range(0, 400 * 4096, 4096))
    os.close(file)
"""
MINOR = """
    with mmap.mmap(-1, 16 << 20) as pages:
        pages.madvise(mmap.MADV_NOHUGEPAGE)
        for at in range(0, 16 << 20, 4096):
            pages[at] = 1
"""
SLEEPS = "time.sleep(WAIT)"
POOL = """
    done = threading.Event()
    jobs.put(done)
    done.wait()
"""
WORKERS = """
    def work():
        while True:
            done = jobs.get()
            time.sleep(WAIT)
            done.set()
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
"""
LOCKED = """
    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(); taken.clear()
    with lock:
        pass
    holder.join()
"""
HOLDER = """
    taken = threading.Event()
    def hold():
        with lock:
            taken.set()
            time.sleep(WAIT)
"""
PAGES = """
    with open(FOLDER + "/pages", "wb") as file:
        file.write(os.urandom(400 * 4096))
        file.flush()
        os.fsync(file.fileno())
"""

SAMPLE = ("--sample", "1/2")
BOTH = (("--all",), SAMPLE)
PLANTS = (
    Plant(
        "HAProxy",
        proxy(str(ROOT / "usr/sbin/haproxy"), "h.cfg", HAPROXY, ["-f"]),
        ("wait_upstream",),
        needs=ROOT / "usr/sbin/haproxy",
        ways=BOTH,
    ),
    Plant(
        "NGINX",
        proxy("/usr/sbin/nginx", "n.conf", NGINX, ["-c"]),
        ("wait_upstream",),
        needs=Path("/usr/sbin/nginx"),
        ways=BOTH,
    ),
    Plant(
        "twemproxy",
        proxy(str(ROOT / "usr/sbin/nutcracker"), "t.yml", TWEMPROXY, ["-c"], "resp"),
        ("wait_upstream",),
        needs=ROOT / "usr/sbin/nutcracker",
        ways=BOTH,
    ),
    Plant(
        "Python, PostgreSQL",
        database,
        ("wait_upstream",),
        needs=Path(shutil.which("postgres") or "/usr/local/bin/postgres"),
        ways=BOTH,
    ),
    Plant("Python, sleeps", threaded(SLEEPS), ("wait_sleep",), ways=BOTH),
    Plant("Python, pool", threaded(POOL, WORKERS), ("wait_lock",), ways=BOTH),
    Plant("Python, lock", threaded(LOCKED, HOLDER), ("wait_lock",), ways=BOTH),
    Plant("pages of a disk", threaded(MAJOR, PAGES), ("wait_fault", "wait_disk")),
    Plant("pages of memory", threaded(MINOR), ("application",), is_work=True),
    Plant(
        "Go, 32 bit",
        go_386,
        ("wait_upstream", "wait_sleep", "wait_lock"),
        needs=Path(shutil.which("go") or "/usr/local/go/bin/go"),
        ways=BOTH,
    ),
    Plant("container", contained, ("wait_sleep",)),
)
#: Where the length is not planted: it is what the pages take.
UNPLANTED = ("pages of a disk", "pages of memory")


def measured(plant: Plant, way: tuple[str, ...], args: argparse.Namespace) -> Row:
    """One server, traced while it is asked."""
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="sojourn-waits-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = plant.start(stack, folder)
        load = ["sojourn-load", *server.asked, "--rate", str(RATE), "--connections", "4"]
        load += ["--duration", f"{args.seconds + 2}s", "--warmup", "200ms", "--json", "-"]
        load += ["--outage-over", "10s", "--timely-within", "1s"]
        client = subprocess.Popen(load, stdout=subprocess.PIPE, text=True)
        time.sleep(0.7)
        tracer = [*server.within, shutil.which("sojourn-trace") or "", "--pid", str(server.pid)]
        done = subprocess.run(
            [*tracer, *way, "--duration", f"{args.seconds}s", "--json", "-"],
            check=False,
            capture_output=True,
            text=True,
            timeout=args.seconds + 60,
        )
        seen = json.loads(client.communicate(timeout=args.seconds + 60)[0])
    if not done.stdout:
        raise RuntimeError(done.stderr[-400:])
    return judged(plant, way, json.loads(done.stdout), seen)


def judged(plant: Plant, way: tuple[str, ...], traced: Any, seen: Any) -> Row:
    stages = {one["name"]: one["mean_ns"] / 1e6 for one in traced["stages"]}
    work = sum(one["share"] for one in traced["causes"] if one["cause"] == "work")
    found = sum(ms for name, ms in stages.items() if set(name.split("+")) & set(plant.stages))
    seen_ms = (seen["wire_ns"]["p50"] or 0) / 1e6
    planted = 0.0 if plant.name in UNPLANTED else PLANTED_MS
    is_right = found >= SHORT * planted and found > 0.5 * traced["total"]["mean_ns"] / 1e6
    is_right &= work > 0.5 if plant.is_work else work < WORK_MAX
    is_right &= traced["matched"] > 0.9 * traced["requests"] > 0
    return Row(
        plant.name,
        " ".join(way),
        planted,
        seen_ms,
        found,
        work,
        traced["verdict"]["verdict"],
        traced["answer"],
        bool(is_right),
        {k: v for k, v in stages.items() if v > 0.001},
    )


def line(row: Row) -> str:
    times = f"planted {row.planted_ms:.1f} ms, client {row.seen_ms:.2f}, found {row.found_ms:.2f}"
    said = f"{row.verdict}: {'right' if row.is_right else 'WRONG'}"
    return f"{row.name:20} {row.way:14} {times}, work {row.work:.1%}, {said}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--only", default="", help="plants whose name holds this")
    args = parser.parse_args()
    programs = os.environ.get("SOJOURN_BIN") or Path(sys.executable).parent
    os.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
    rows, left = [], []
    for plant in PLANTS:
        if args.only not in plant.name:
            continue
        if not plant.needs.exists():
            left.append(f"{plant.name}: not installed (bench/wire/usual/setup)")
            continue
        for way in plant.ways:
            try:
                rows.append(measured(plant, way, args))
            except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
                left.append(f"{plant.name}, {' '.join(way)}: {error}")
                continue
            print(line(rows[-1]), flush=True)
    print(*(f"left out: {one}" for one in left), sep="\n")
    when = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    kept = {"when": when, "kernel": os.uname().release, "rows": [asdict(row) for row in rows]}
    (HERE / "runs" / f"{when}-waits.json").write_text(
        json.dumps({**kept, "left_out": left}, indent=1)
    )
    return 0 if rows and all(row.is_right for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
