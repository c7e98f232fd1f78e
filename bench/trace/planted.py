"""Are planted culprits named on real servers, and is nobody named where nothing is planted?

memcached (one thread) or NGINX (one worker) on CPU 0, an open-loop client on CPU 1, the tracer
there too. Beside them: `xz` in a control group of its own on the server's CPU, `xz` at nice -5,
packets to another port that RPS hands to the server's CPU, a client that makes NGINX read from the
disk past the page cache (directio), and nothing, several times. A lock inside the service cannot be
planted from outside: `crates/trace/tests/live/culprit.rs` does that. Prints a table; exit 1 if a
row is wrong. Needs root, memcached, nginx, xz, two CPUs. Raw results: bench/trace/runs.

    .venv/bin/python bench/trace/planted.py [--quiet-runs 10] [--seconds 5] [--flame FOLDER]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import runpy
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

HERE = Path(__file__).parent
servers = SimpleNamespace(**runpy.run_path(str(HERE.parent / "servers.py")))
SERVER_CPU, CLIENT_CPU = "0", "1"
RATES = {"memcached": 10_000, "nginx": 3_000}
GROUPS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))
WEIGHTS = {"cpu.shares": 8192, "cpu.weight": 800}  # eight times the default: batch, misplaced
BIG_BYTES = 4 << 20
NGINX = """
daemon off;
user root;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    directio 1m;
    output_buffers 1 1m;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/t1;
    proxy_temp_path {folder}/t2;
    fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4;
    scgi_temp_path {folder}/t5;
    server {{ listen 127.0.0.1:{port}; root {folder}/www; }}
}}
"""
FLOOD = """
import socket
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    try:
        out.sendto(b"x" * 64, ("127.0.0.1", 9))
    except OSError:
        pass
"""
RPS = (
    "mount -t sysfs sysfs /sys && ip link set lo up && "
    f"echo {1 << int(SERVER_CPU)} > /sys/class/net/lo/queues/rx-0/rps_cpus && "
    f'exec taskset -c {CLIENT_CPU} "$0" -I -S -c "$1"'
)


@dataclass(frozen=True, slots=True)
class Server:
    """A real server: its name, the process to trace, its port and its folder."""

    name: str
    pid: int
    port: int
    folder: Path


@dataclass(frozen=True, slots=True)
class Row:
    """One run: who was planted, who was named, and what the tracer reported."""

    server: str
    planted: str
    named: list[str]
    is_right: bool
    answer: str
    blame: dict[str, Any]


@contextlib.contextmanager
def started(name: str) -> Iterator[Server]:
    """A server on the server's CPU, once it listens."""
    port = servers.ports.free()
    folder = Path(tempfile.mkdtemp(prefix="sojourn-planted-"))
    folder.chmod(0o755)
    (folder / "www").mkdir()
    (folder / "www/4k").write_bytes(b"x" * 4096)
    (folder / "www/big").write_bytes(os.urandom(BIG_BYTES))
    os.sync()
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
    words = {
        "memcached": f"memcached -u nobody -l 127.0.0.1 -p {port} -U 0 -t 1 -m 256",
        "nginx": f"/usr/sbin/nginx -c {folder}/nginx.conf -p {folder}",
    }[name]
    command = ["taskset", "-c", SERVER_CPU, *words.split()]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            servers.await_port(port)
            yield Server(name, process.pid, port, folder)
        finally:
            process.terminate()
            process.wait()
            shutil.rmtree(folder)


@contextlib.contextmanager
def beside(command: list[str], group: str = "") -> Iterator[None]:
    """A task while the block runs; in a control group of that name, if one is given."""
    folder = next(tree for tree in GROUPS if (tree / "cgroup.procs").exists()) / group
    if group:
        folder.mkdir(exist_ok=True)
    task = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if group:
            (folder / "cgroup.procs").write_text(str(task.pid))
            for file, weight in WEIGHTS.items():
                if (folder / file).exists():
                    (folder / file).write_text(str(weight))
        time.sleep(0.3)
        if task.poll() is not None:
            raise RuntimeError(f"it ended at once: {command}")
        yield
    finally:
        task.kill()
        task.wait()
        if group:
            time.sleep(0.1)
            folder.rmdir()


def xz(_: Server, *, nice: int = 0, group: str = "") -> AbstractContextManager[None]:
    """`xz` on the server's CPU."""
    words = f"nice -n {nice} taskset -c {SERVER_CPU} xz -9 -T1 -c /dev/urandom"
    return beside(words.split(), group)


def flood(_: Server) -> AbstractContextManager[None]:
    """Packets that no one wants, taken from the network by the server's CPU."""
    return beside(["unshare", "-n", "-m", "sh", "-c", RPS, sys.executable, FLOOD])


@contextlib.contextmanager
def disk(server: Server) -> Iterator[None]:
    """A client that asks for the big file twenty times a second."""
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.wait(0.05):
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/big") as reply:
                reply.read()

    client = threading.Thread(target=ask)
    client.start()
    try:
        yield
    finally:
        is_over.set()
        client.join()


@contextlib.contextmanager
def nothing(_: Server) -> Iterator[None]:
    """Nothing is planted beside this one."""
    yield


Plant = Callable[[Server], AbstractContextManager[None]]
PLANTS: dict[str, tuple[tuple[str, ...], Plant, tuple[str, str]]] = {
    # what: servers, how, (kind, name) that must be named
    "xz in cgroup batch": (
        ("memcached", "nginx"),
        lambda s: xz(s, group="batch"),
        ("task", "xz (batch)"),
    ),
    "xz at nice -5": (("memcached", "nginx"), lambda s: xz(s, nice=-5), ("task", "xz")),
    "packets": (("memcached", "nginx"), flood, ("softirq", "NET_RX")),
    "disk": (("nginx",), disk, ("block_io", "big")),
    "nothing": (("memcached", "nginx"), nothing, ("", "")),
}


def trace(server: Server, bin_dir: Path, seconds: float, flame: Path | None) -> dict[str, Any]:
    """The tracer's `blame` of one run under load."""
    is_kv = server.name == "memcached"
    words = f"--rate {RATES[server.name]} --connections 16 --cpus {CLIENT_CPU} --wait sleep"
    words += f" --warmup 1s --duration {seconds + 4}s" + (" --preload --items 1000" * is_kv)
    target = f"memcache://127.0.0.1:{server.port}"
    if not is_kv:
        target = f"http://127.0.0.1:{server.port}/4k"
    load = subprocess.Popen(
        [str(bin_dir / "sojourn-load"), target, *words.split()],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        time.sleep(2)
        argv = ["taskset", "-c", CLIENT_CPU, str(bin_dir / "sojourn-trace")]
        argv += [
            "--pid",
            str(server.pid),
            "--all",
            "--blame=p99",
            "--duration",
            f"{seconds}s",
            "--json",
            "-",
        ]
        argv += ["--flame", str(flame)] if flame else []
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 3):
            raise RuntimeError(done.stderr)
        blame: dict[str, Any] = json.loads(done.stdout)["blame"]
        return blame
    finally:
        load.kill()
        load.wait()


def name_of(suspect: dict[str, Any]) -> tuple[str, str]:
    group = f" ({suspect['cgroup']})" if suspect["cgroup"] else ""
    return suspect["kind"], suspect["name"] + group


def run(server: str, what: str, args: argparse.Namespace, number: int) -> Row:
    """One row."""
    _, plant, wanted = PLANTS[what]
    flame = args.flame / f"{server}-{what.replace(' ', '-')}-{number}.svg" if args.flame else None
    with started(server) as it, plant(it):
        blame = trace(it, args.bin, args.seconds, flame)
    named = [name_of(suspect) for suspect in blame["suspects"] if suspect["is_named"]]
    is_right = wanted in named if wanted[0] else not named
    return Row(server, what, [" ".join(each) for each in named], is_right, blame["answer"], blame)


def main() -> int:
    """Plants, traces, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--quiet-runs", type=int, default=10, help="without anything, per server")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--only", choices=PLANTS, help="one kind of plant")
    parser.add_argument("--flame", type=Path, help="where flame graphs go")
    parser.add_argument("--runs", type=Path, default=HERE / "runs")
    args = parser.parse_args()
    if args.flame:
        args.flame.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    print(f"{'server':10}{'planted':22}{'right':7}answer")
    for what in [args.only] if args.only else PLANTS:
        for server in PLANTS[what][0]:
            for number in range(args.quiet_runs if what == "nothing" else 1):
                row = run(server, what, args, number)
                rows.append(row)
                word = "yes" if row.is_right else "NO"
                print(f"{server:10}{what:22}{word:7}{row.answer}", flush=True)
    right = sum(row.is_right for row in rows)
    print(f"{right} of {len(rows)} right")
    args.runs.mkdir(parents=True, exist_ok=True)
    path = args.runs / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{socket.gethostname()}-planted.json"
    about = {"command": ["bench/trace/planted.py", *sys.argv[1:]], "kernel": os.uname().release}
    path.write_text(json.dumps({**about, "rows": [asdict(row) for row in rows]}) + "\n")
    print(f"kept in {path}")
    return 0 if right == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
