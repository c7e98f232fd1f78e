"""What `sojourn-trace` costs the service it looks at: ratios, with and without, interleaved.

memcached on CPU 0 counts its own replies (`cmd_get`) while a closed-loop client on CPU 1 keeps it
busy; phases without a tracer, with each tracer and without again take turns, and each is held
against its neighbours, so that what the machine does to one it does to the other. Two ratios:
throughput, and the server's CPU time per reply. At saturation one is the other's inverse, but CPU
time cares less about who else wants the CPU. Needs root, memcached; bpftrace if there is one. Raw
windows are kept under bench/trace/runs.

    .venv/bin/python bench/trace/run.py [--rounds 5] [--half-rps 40000]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
WINDOW_S = 0.2
PHASE_S = 2.0
SETTLE_S = 0.3
QUIET_RPS = 20_000
TRIES = 3
Window = tuple[float, float]  # replies a second, CPU time per reply in ns
NICE = "nice -n -10"  # server and client go before most of what else the machine does


@dataclass(frozen=True, slots=True)
class Pair:
    """Windows with a tracer, and those just before and after without one."""

    plain: list[Window]
    traced: list[Window]


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


def tracer(words: list[str]) -> Callable[[Memcached], subprocess.Popen[bytes]]:
    """Starts a tracer on CPU 1 when called; `{pid}` in its words is the server's."""

    def start(server: Memcached) -> subprocess.Popen[bytes]:
        filled = [word.format(pid=server.process.pid) for word in words]
        return subprocess.Popen(
            ["taskset", "-c", "1", *filled], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    return start


def conditions(bin_dir: Path) -> dict[str, Callable[[Memcached], subprocess.Popen[bytes]]]:
    """Tracers by name."""
    ours = [str(bin_dir / "sojourn-trace"), "--pid", "{pid}", "--duration", "60s"]
    kinds = {
        "aggregate": tracer(ours),
        "records": tracer(
            [*ours, "--records", f"{tempfile.gettempdir()}/sojourn-overhead-{os.getpid()}.parquet"]
        ),
    }
    if shutil.which("bpftrace") and shutil.which("unshare"):
        script = "mount -t tracefs none /sys/kernel/tracing; exec bpftrace"
        script += f" {HERE}/subset.bt {{pid}}"
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


def saturate(server: Memcached, bin_dir: Path) -> subprocess.Popen[bytes]:
    """A closed-loop client that runs until it is killed."""
    words = "--preload --items 1000 --find-max --connections 64 --cpus 1 --wait sleep"
    words += " --warmup 1s --duration 600s"
    load = subprocess.Popen(
        [
            *NICE.split(),
            str(bin_dir / "sojourn-load"),
            f"memcache://127.0.0.1:{server.port}",
            *words.split(),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while server.window(0.5)[0] < 1000 and load.poll() is None:
        pass
    return load


def phase(server: Memcached, length_s: float) -> list[Window]:
    """Windows until `length_s` is over; those with next to no replies say nothing."""
    end = time.monotonic() + length_s
    windows = []
    while time.monotonic() < end:
        window = server.window(WINDOW_S)
        if window[0] > QUIET_RPS:
            windows.append(window)
    return windows


def saturated(server: Memcached, bin_dir: Path, rounds: int) -> dict[str, list[Pair]]:
    """Each tracer's phases, each between two without one; in every round in another order."""
    kinds = conditions(bin_dir)
    pairs: dict[str, list[Pair]] = {name: [] for name in kinds}
    order = random.Random(1)  # noqa: S311 - an order, no secret
    load = saturate(server, bin_dir)
    try:
        before = phase(server, PHASE_S)
        for name in [name for _ in range(rounds) for name in order.sample(list(kinds), len(kinds))]:
            process = attach(kinds[name], server)
            time.sleep(SETTLE_S)
            during = phase(server, PHASE_S)
            stop(process)
            time.sleep(SETTLE_S)
            after = phase(server, PHASE_S)
            if before and during and after:
                pairs[name].append(Pair([*before, *after], during))
            before = after
    finally:
        load.kill()
        load.wait()
    return pairs


def attach(
    start: Callable[[Memcached], subprocess.Popen[bytes]], server: Memcached
) -> subprocess.Popen[bytes]:
    """A tracer, once its programs are in the kernel."""
    none = attached()
    process = start(server)
    while attached() < none + 8 and process.poll() is None:
        time.sleep(0.05)
    return process


def ratios(pairs: dict[str, list[Pair]]) -> dict[str, dict[str, float]]:
    """Each tracer over none, phase by phase: least, median and most of the rounds."""
    found: dict[str, dict[str, float]] = {}
    for name, rounds in pairs.items():
        if not rounds:
            continue
        rps = [middle(p.traced, 0) / middle(p.plain, 0) for p in rounds]
        cpu = [middle(p.traced, 1) / middle(p.plain, 1) for p in rounds]
        found[name] = {
            "rounds": len(rounds),
            "throughput_ratio": statistics.median(rps),
            "throughput_ratio_min": min(rps),
            "throughput_ratio_max": max(rps),
            "cpu_ratio": statistics.median(cpu),
            "cpu_ns_per_reply_more": statistics.median(
                middle(p.traced, 1) - middle(p.plain, 1) for p in rounds
            ),
        }
    return found


def middle(windows: list[Window], at: int) -> float:
    return statistics.median(window[at] for window in windows)


def half_load(server: Memcached, bin_dir: Path, rounds: int, rps: float) -> dict[str, list[float]]:
    """Client's p99 sojourn time at `rps`, ns, with each tracer and without, in random turns.

    0: the machine stopped client or server meanwhile, in each of `TRIES` runs.
    """
    kinds = conditions(bin_dir)
    p99: dict[str, list[float]] = {name: [] for name in ["none", *kinds]}
    words = f"--preload --items 1000 --rate {rps:.0f} --connections 64 --cpus 1 --wait spin"
    words += " --server-cpus 0 --warmup 0.3s --duration 1500ms --json -"
    command = [*NICE.split(), str(bin_dir / "sojourn-load"), f"memcache://127.0.0.1:{server.port}"]
    order = random.Random(1)  # noqa: S311 - an order, no secret
    for name in [name for _ in range(rounds) for name in order.sample(list(p99), len(p99))]:
        process = attach(kinds[name], server) if name in kinds else None
        p99[name].append(undisturbed_p99([*command, *words.split()]))
        if process:
            stop(process)
    return p99


def undisturbed_p99(command: list[str]) -> float:
    """p99 of the first run in which neither client nor server was stopped, ns; 0: none was."""
    for _ in range(TRIES):
        run = subprocess.run(command, capture_output=True, check=False)
        result = json.loads(run.stdout)
        if not any("stopped: " in reason for reason in result["reasons"]):
            return float(result["sojourn_ns"]["p99"])
    return 0.0


def p99_ratios(p99: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Each tracer over none in the same round: least, median and most."""
    found: dict[str, dict[str, float]] = {}
    for name, each in p99.items():
        pairs = [pair for pair in zip(each, p99["none"], strict=True) if all(pair)]
        if not pairs:
            continue
        over = [with_it / without for with_it, without in pairs]
        found[name] = {
            "rounds": len(pairs),
            "p99_ns": statistics.median(with_it for with_it, _ in pairs),
            "ratio": statistics.median(over),
            "ratio_min": min(over),
            "ratio_max": max(over),
        }
    return found


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--half-rps", type=float, help="compare p99 at this rate instead")
    parser.add_argument("--runs", type=Path, default=HERE / "runs")
    args = parser.parse_args()
    server = Memcached()
    try:
        if args.half_rps:
            halves = half_load(server, args.bin, args.rounds, args.half_rps)
            raw: object = halves
            found = p99_ratios(halves)
        else:
            pairs = saturated(server, args.bin, args.rounds)
            found = ratios(pairs)
            raw = {name: [asdict(pair) for pair in each] for name, each in pairs.items()}
    finally:
        server.process.kill()
        server.process.wait()
    print(json.dumps(found, indent=2))
    args.runs.mkdir(parents=True, exist_ok=True)
    kept = args.runs / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{socket.gethostname()}.json"
    about = {
        "command": ["bench/trace/run.py", *sys.argv[1:]],
        "kernel": os.uname().release,
        "found": found,
        "raw": raw,
    }
    kept.write_text(json.dumps(about) + "\n")
    print(f"kept in {kept}")


if __name__ == "__main__":
    main()
