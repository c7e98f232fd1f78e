"""A real cluster of Ray for tests, in network namespaces on one bridge.

Each node has a network, a folder for its journals and, where asked, a clock of its own. The bridge
is in a namespace as well, so nothing of this machine's own network changes. Whatever is started has
a warden, and all of it ends with this process at the latest.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from sojourn import extras
from sojourn.hosts.testing import Notes
from sojourn.places import proc, process

PACKAGE = str(Path(__file__).parents[2])
PORT = 6379
START_S_MAX, TRIES = 120.0, 4
STARTED = "Ray runtime started"
OWN = (sys.executable, "-P", "-m", "ray.scripts.scripts")
TWO_CLIENTS = """
name = "{name}"
question = "Do two clients act as one?"
probe = "0"
aa = false
[hosts]
{hosts}
[run]
profile = "quick"
measure_s = {seconds}
warmup_s = 0.2
repeats = 2
fractions = []
rates = ["500"]
retries = 0
[[services]]
kind = "synthetic"
measure = ["sweep"]
max_rps = "asked"
params = {{ service = "fixed:20us", mode = "sleep" }}
load = {{ connections = 8, wait = "sleep", outage_over = "10s", timely_within = "10s" }}
"""


def ray_start(
    folder: Path,
    name: str,
    *words: str,
    before: tuple[str, ...] = (),
    variables: Mapping[str, str] | None = None,
) -> process.Process:
    """Start one node of a cluster; its warden ends all of it with this process at the latest."""
    # fmt: off
    own = (
        "start", "--block", "--node-name", name, "--num-cpus", "0", "--disable-usage-stats",
        "--object-store-memory", "100000000", *words,
    )
    # fmt: on
    return process.start(
        f"ray node {name}",
        [*before, *OWN, *own],
        cwd=folder,
        ledger=Notes(),
        log=folder / f"{name}.log",
        variables={
            "PYTHONPATH": PACKAGE,
            "SOJOURN_STATE": str(folder / "state"),
            "HOME": str(folder),
            **(variables or {}),
        },
    )


def generators(state: Path) -> list[int]:
    """Processes that journals note and that live."""
    pids = []
    for path in state.glob("*.jsonl"):
        with contextlib.suppress(OSError, ValueError):
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            pids += [line["pid"] for line in lines if line["event"] == "process"]
    return [pid for pid in pids if (stat := proc.stat(pid)) and stat.state != "Z"]


def below(folder: Path) -> list[str]:
    """Processes that have anything to do with a folder, by their command line or environment."""
    result = []
    for pid in proc.pids():
        with contextlib.suppress(OSError):
            about = (
                Path(f"/proc/{pid}/environ").read_bytes()
                + Path(f"/proc/{pid}/cmdline").read_bytes()
            )
            stat = proc.stat(pid)
            if str(folder).encode() in about and stat and stat.state != "Z":
                result.append(f"{pid} {stat.name}")
    return result


def lack() -> str:
    """What this machine lacks for a cluster in namespaces; "": nothing."""
    if os.geteuid() or not all(map(shutil.which, ("ip", "nsenter"))):
        return "root, ip and nsenter"
    if find_spec("ray") is None:
        return f"ray: {extras.command(extras.RAY)}"
    return ""


def ip(*words: str, check: bool = True) -> None:
    """Run `ip`, which configures networks."""
    subprocess.run(["ip", *words], check=check, capture_output=True, timeout=30)


class Host:
    """One planted host: a namespace, a folder and a node of the cluster."""

    def __init__(self, bridge: str, name: str, address: str, folder: Path) -> None:
        self.name, self.address, self.folder = name, address, folder
        self.state = folder / "state"
        self.state.mkdir(mode=0o700, parents=True)
        self.node: process.Process | None = None
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", bridge, "link", "add", f"{name}b", "type", "veth", "peer", "eth0", "netns", name)
        ip("-n", bridge, "link", "set", f"{name}b", "master", "br0", "up")
        ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")

    @property
    def inside(self) -> tuple[str, ...]:
        """Words before a command that is to run there."""
        return (str(shutil.which("nsenter")), f"--net=/run/netns/{self.name}")

    def variables(self) -> dict[str, str]:
        """What a program of the lab needs there."""
        home = {"HOME": str(self.folder), "SOJOURN_STATE": str(self.state)}
        return {"PYTHONPATH": PACKAGE, "RAY_USAGE_STATS_ENABLED": "0", **home}

    def link(self, state: str) -> None:
        """Set its link `up` or `down`."""
        ip("-n", self.name, "link", "set", "eth0", state)

    def deaf(self, to: str, *, is_on: bool) -> None:
        """Drop whatever it sends to an address, while what comes from there arrives."""
        ip("-n", self.name, "route", "add" if is_on else "del", "blackhole", to, check=False)

    def pids(self, word: str) -> list[int]:
        """Processes in its namespace with a word in their command lines."""
        own = os.stat(f"/run/netns/{self.name}").st_ino  # noqa: PTH116
        result = []
        for pid in proc.pids():
            with contextlib.suppress(OSError):
                is_there = os.stat(f"/proc/{pid}/ns/net").st_ino == own  # noqa: PTH116
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
                if is_there and word.encode() in line and (stat := proc.stat(pid)):
                    result += [pid] if stat.state != "Z" else []
        return result


class Cluster:
    """A head and workers; the lab runs on the head's host."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._tag = f"sj{os.getpid() % 100_000}"
        self.folder, self._bridge = folder, f"{self._tag}r"
        self.temp = Path("/tmp") / f"{self._tag}t"  # noqa: S108  # paths of sockets are short
        ip("netns", "add", self._bridge)
        ip("-n", self._bridge, "link", "add", "br0", "type", "bridge")
        ip("-n", self._bridge, "link", "set", "br0", "up")
        self.hosts = [
            Host(self._bridge, f"{self._tag}n{n}", f"10.77.0.{n + 1}", folder / f"host{n}")
            for n in range(workers + 1)
        ]

    @property
    def head(self) -> Host:
        """The host of the head, and of the lab."""
        return self.hosts[0]

    @property
    def at(self) -> str:
        """Its address, as a study names it."""
        return f"{self.head.address}:{PORT}"

    def start(self) -> None:
        """Start every node that does not run."""
        for host in self.hosts:
            if host.node is None or host.node.poll(0.0) is not None:
                self._start(host)

    def _start(self, host: Host) -> None:
        """Start one. Ray gives up after 30 s, which a busy machine may need, so it has tries."""
        words: tuple[str, ...] = ("--address", self.at)
        if host is self.head:
            own = ("--head", "--port", str(PORT), "--include-dashboard", "false")
            words = (*own, "--temp-dir", str(self.temp))
        words = (*words, "--node-ip-address", host.address)
        log = host.folder / f"{host.name}.log"
        for _ in range(TRIES):
            log.unlink(missing_ok=True)
            host.node = ray_start(
                host.folder, host.name, *words, before=host.inside, variables=host.variables()
            )
            until_s = time.monotonic() + START_S_MAX
            while host.node.poll(0.1) is None and time.monotonic() < until_s:
                if STARTED in log.read_text():
                    return
            host.node.stop(first=signal.SIGKILL)
        raise RuntimeError(log.read_text())

    def run(self, words: list[str], length_s: float) -> subprocess.CompletedProcess[str]:
        """Run a program on the head's host to its end."""
        env = {**os.environ, **self.head.variables()}
        return subprocess.run(
            [*self.head.inside, *words],
            env=env,
            capture_output=True,
            text=True,
            timeout=length_s,
            check=False,
        )

    def stop(self) -> None:
        """End every node of the cluster."""
        for host in self.hosts:
            if host.node is not None:
                host.node.stop(first=signal.SIGKILL)
                host.node = None
        shutil.rmtree(self.temp, ignore_errors=True)

    def close(self) -> None:
        """End every node and remove the networks."""
        self.stop()
        for name in (*(host.name for host in self.hosts), self._bridge):
            ip("netns", "del", name, check=False)


@contextlib.contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """A cluster that runs until the end of the block."""
    made = Cluster(folder, workers)
    try:
        made.start()
        yield made
    finally:
        made.close()
