"""Round trips over loopback, a veth pair, the kernel's bridge and Open vSwitch, in turn.

Usage: sudo python bench/links.py [--rounds 8] [--seconds 4] [--rate 1000]

    client ── link ── namespace of the service

It runs in a network namespace of its own, so nothing of this machine's network changes. The links
are those of the places: veth and bridge as in `netns`, Open vSwitch with its datapath in user space
as in `vm:ovs`. The service is an echo without work, on CPU 1. The client spins on CPU 0, alone but
for what the kernel runs there. On two CPUs the switch's daemon shares them with both.
Rows are stored in `bench/runs`, runs that doubt themselves included; those do not count below.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from sojourn import programs
from sojourn.knobs.testing import MemoryBook
from sojourn.places import netns, network
from sojourn.places.network import Link
from sojourn.places.platform.switch import Bridge, OpenVSwitch, Switch

RUNS = Path(__file__).parent / "runs"
PORT, SERVER_CPU, CLIENT_CPU = 9900, 1, 0
OUTSIDE, INSIDE = "10.222.0.1", "10.222.0.2"
LINKS = ("loopback", "veth", "bridge", "ovs")
QUANTILES = ("p50", "p90", "p99")
START_S_MAX = 10.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=4, help="length of a run, s (4)")
    parser.add_argument("--rate", type=int, default=1000, help="requests/s (1000)")
    asked = parser.parse_args()
    if "SOJOURN_LINKS" not in os.environ:
        words = ["unshare", "-n", "-m", sys.executable, *sys.argv]
        return subprocess.run(
            words, check=False, env=os.environ | {"SOJOURN_LINKS": "1"}
        ).returncode
    network.bring_up("lo")
    order, rows = random.Random(1), []  # noqa: S311  # an order, no secret
    for number in range(asked.rounds):
        for name in order.sample(LINKS, len(LINKS)):
            with tempfile.TemporaryDirectory() as folder:
                row = one(name, Path(folder), asked)
            rows.append({"round": number, "link": name, **row})
            print(json.dumps(rows[-1]), flush=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    (RUNS / f"{stamp}-links.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    show(rows)
    return 0


def one(name: str, folder: Path, asked: argparse.Namespace) -> dict[str, float | str]:
    """Quantiles of a run over one link, µs, and the verdict of the run."""
    with linked(name, folder) as (path, host), served(path, host):
        program = str(programs.find("sojourn-load", fix="make build"))
        words = [f"--rate={asked.rate}", f"--duration={asked.seconds}s", "--connections=8"]
        words += ["--wait=spin", "--threads=1", f"--cpus={CLIENT_CPU}", f"--json={folder / 'o'}"]
        client = [program, f"echo://{host}:{PORT}", *words]
        subprocess.run(client, check=False, capture_output=True, timeout=asked.seconds + 30)
    result = json.loads((folder / "o").read_text(encoding="utf-8"))
    times = {q: round((result["sojourn_ns"][q] or 0) / 1e3, 2) for q in QUANTILES}
    lost = not all(times.values())  # a quantile among requests that never got a reply
    return {**times, "verdict": "unknown" if lost else result["verdict"]}


@contextlib.contextmanager
def linked(name: str, folder: Path) -> Iterator[tuple[Path | None, str]]:
    """The service's namespace and its address; None: it is here."""
    if name == "loopback":
        yield None, "127.0.0.1"
        return
    bridge, port, inner = (
        Link(name=each, mac=netns.mac()) for each in ("links-b", "links-v", netns.INNER)
    )
    path = network.RUN / f"links-{os.getpid()}"
    network.make(path)
    switch: Switch | None = None
    try:
        if name != "veth":
            is_ovs = name == "ovs"
            switch = OpenVSwitch(bridge, folder / "ovs", MemoryBook()) if is_ovs else Bridge(bridge)
            switch.add()
        network.add_pair(port, inner, path)
        if switch is not None:
            switch.join(port)
        network.bring_up(port.name if switch is None else bridge.name, OUTSIDE)
        network.inside(path, lambda: network.bring_up("lo"))
        network.inside(path, lambda: network.bring_up(inner.name, INSIDE))
        yield path, INSIDE
    finally:
        if switch is not None:
            switch.remove()
        with contextlib.suppress(OSError):
            network.delete(port)
        network.remove(path)


@contextlib.contextmanager
def served(path: Path | None, host: str) -> Iterator[None]:
    """An echo that listens in a namespace, until the block ends."""
    server = str(programs.find("sojourn-serve", fix="make build"))
    words = [server, "--protocol=echo", "--mode=sleep", f"--cpus={SERVER_CPU}"]
    words += [f"--host={host}", f"--port={PORT}"]
    enter = [shutil.which("nsenter") or "nsenter", f"--net={path}"] if path else []
    process = subprocess.Popen([*enter, *words], stdout=subprocess.DEVNULL)
    try:
        end_s = time.monotonic() + START_S_MAX
        while not answers(host):
            if process.poll() is not None or time.monotonic() > end_s:
                raise SystemExit(f"the service does not answer at {host}:{PORT}")
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(timeout=START_S_MAX)


def answers(host: str) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, PORT), timeout=1.0):
        return True
    return False


def show(rows: list[dict[str, float | str]]) -> None:
    """Medians over the rounds, and how far each p50 is above the veth pair's, round by round."""
    print(
        f"{'link':10}{'runs':>5}" + "".join(f"{q + ' us':>10}" for q in QUANTILES) + "  p50 ÷ veth"
    )
    valid = [row for row in rows if row["verdict"] != "unknown"]
    veth = {row["round"]: float(row["p50"]) for row in valid if row["link"] == "veth"}
    for name in LINKS:
        own = [row for row in valid if row["link"] == name]
        ratios = sorted(float(r["p50"]) / veth[r["round"]] for r in own if r["round"] in veth)
        middle = (
            "".join(f"{median(float(r[q]) for r in own):>10.1f}" for q in QUANTILES) if own else ""
        )
        ends = f"  {median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})" if ratios else ""
        print(f"{name:10}{len(own):>5}{middle}{ends}")


if __name__ == "__main__":
    sys.exit(main())
