"""The server that is traced, and what traces it: ours in all its ways, and a bpftrace script."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn.places import ports

SUBSET = Path(__file__).with_name("subset.bt")
#: Hooks that leave at once: `cargo build --release -p sojourn-trace --features bpf --example idle`.
IDLE = Path(__file__).parents[2] / "target/release/examples/idle"
IDLE_SETS = ("all", "sample", "few")
NICE = "nice -n -10"  # server and client go before most of what else the machine does
ATTACH_S_MAX = 20.0
BPFTRACE_S = 1.0


class Memcached:
    """A memcached of one thread on CPU 0, with one counter worth reading."""

    def __init__(self) -> None:
        self.port = ports.free()
        command = (
            f"taskset -c 0 {NICE} memcached -u nobody -l 127.0.0.1 -p {self.port} -U 0 -t 1 -m 256"
        )
        self.process = subprocess.Popen(command.split())
        self.stats = self.connect()

    def connect(self) -> socket.socket:
        """A connection, once the server listens."""
        for _ in range(100):
            try:
                return socket.create_connection(("127.0.0.1", self.port))
            except ConnectionRefusedError:
                time.sleep(0.05)
        raise RuntimeError(f"memcached does not listen on port {self.port}")

    def gets(self) -> int:
        """Replies so far, by the server's own count."""
        self.stats.sendall(b"stats\r\n")
        text = b""
        while not text.endswith(b"END\r\n"):
            text += self.stats.recv(65536)
        line = next(line for line in text.split(b"\r\n") if line.startswith(b"STAT cmd_get "))
        return int(line.split()[2])

    def cpu_ns(self) -> int:
        """CPU time of the whole process: the clock that clock_getcpuclockid(3) would answer."""
        return time.clock_gettime_ns((~self.process.pid << 3) | 2)

    def window(self, window_s: float) -> tuple[float, float]:
        """Replies a second, and CPU time per reply in ns."""
        began, cpu_ns, first = time.monotonic(), self.cpu_ns(), self.gets()
        time.sleep(window_s)
        replies = max(self.gets() - first, 1)
        return replies / (time.monotonic() - began), (self.cpu_ns() - cpu_ns) / replies


Start = Callable[[Memcached], subprocess.Popen[bytes]]


def tracer(words: list[str]) -> Start:
    """Starts a tracer on CPU 1 when called; `{pid}` in its words is the server's."""

    def start(server: Memcached) -> subprocess.Popen[bytes]:
        filled = [word.format(pid=server.process.pid) for word in words]
        return subprocess.Popen(
            ["taskset", "-c", "1", *filled], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    return start


def conditions(bin_dir: Path, scratch: Path) -> dict[str, Start]:
    """Tracers by name, also with hooks that do nothing; `scratch` is for what they write."""
    ours = [str(bin_dir / "sojourn-trace"), "--pid", "{pid}", "--duration", "60s"]
    kinds = {
        "windows": tracer([*ours, "--json", str(result_path("windows", scratch))]),
        "sample 1/64": tracer([*ours, "--sample", "1/64"]),
        "sample 1/64, all stages": tracer([*ours, "--sample", "1/64", "--all-stages"]),
        "all": tracer([*ours, "--all"]),
        "blame": tracer([*ours, "--all", "--blame"]),
        "records": tracer([*ours, "--records", str(scratch / "records.parquet")]),
    }
    if IDLE.exists():
        kinds |= {f"idle {which}": tracer([str(IDLE), "{pid}", which]) for which in IDLE_SETS}
    if shutil.which("bpftrace") and shutil.which("unshare"):
        script = "mount -t tracefs none /sys/kernel/tracing; exec bpftrace"
        script += f" {SUBSET} {{pid}}"
        kinds["bpftrace"] = tracer(["unshare", "-m", "sh", "-c", script])
    return kinds


def result_path(name: str, scratch: Path) -> Path:
    """Where a tracer of ours leaves its result, if it is asked for one."""
    return scratch / f"{name.replace('/', '-')}.json"


def result_of(name: str, scratch: Path) -> dict[str, Any] | None:
    """What it left when it ended; None: it writes none."""
    path = result_path(name, scratch)
    if not path.exists():
        return None
    results: dict[str, Any] = json.loads(path.read_text())
    path.unlink()
    return results


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a tracer and waits until its programs are gone."""
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def traces(content: bytes) -> bool:
    """Whether a tracer of any make has reported so."""
    return b"tracing" in content or b"Attaching" in content


def attach(start: Start, server: Memcached) -> subprocess.Popen[bytes]:
    """A tracer, once it says that it traces, whatever it warned of before.

    Raises:
        RuntimeError: it ended, or said nothing in time.
    """
    process = start(server)
    assert process.stdout is not None  # noqa: S101  # it was asked for
    pipe, result, end = process.stdout.fileno(), b"", time.monotonic() + ATTACH_S_MAX
    while not traces(result) and time.monotonic() < end and process.poll() is None:
        if select.select([pipe], [], [], 0.1)[0]:
            result += os.read(pipe, 4096)
    if not traces(result):
        stop(process)
        raise RuntimeError(f"no tracer: {result.decode(errors='replace')}")
    if b"Attaching" in result:
        time.sleep(BPFTRACE_S)  # the line comes before the probes
    return process
