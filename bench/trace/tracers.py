"""The server that is traced, and what traces it: ours in both ways, and a bpftrace script."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

SUBSET = Path(__file__).with_name("subset.bt")
NICE = "nice -n -10"  # server and client go before most of what else the machine does
ATTACH_S_MAX = 20.0


class Memcached:
    """A memcached of one thread on CPU 0, with one counter worth reading."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
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
            ["taskset", "-c", "1", *filled], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    return start


def conditions(bin_dir: Path, scratch: Path) -> dict[str, Start]:
    """Tracers by name; `scratch` is for what they write."""
    ours = [str(bin_dir / "sojourn-trace"), "--pid", "{pid}", "--duration", "60s"]
    kinds = {
        "aggregate": tracer(ours),
        "blame": tracer([*ours, "--blame"]),
        "records": tracer([*ours, "--records", str(scratch / "records.parquet")]),
    }
    if shutil.which("bpftrace") and shutil.which("unshare"):
        script = "mount -t tracefs none /sys/kernel/tracing; exec bpftrace"
        script += f" {SUBSET} {{pid}}"
        kinds["bpftrace"] = tracer(["unshare", "-m", "sh", "-c", script])
    return kinds


def attached() -> int:
    """How many BPF programs the kernel holds."""
    listed = subprocess.run(["bpftool", "prog", "show"], capture_output=True, check=False)
    return listed.stdout.count(b" tracing ") + listed.stdout.count(b" tracepoint ")


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a tracer and waits until its programs are gone."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def attach(start: Start, server: Memcached) -> subprocess.Popen[bytes]:
    """A tracer, once its programs are in the kernel."""
    none, end = attached(), time.monotonic() + ATTACH_S_MAX
    process = start(server)
    while attached() < none + 8 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    return process
