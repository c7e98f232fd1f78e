"""The sampler of resources: what a limit of its network means for what it can take."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import pytest

from sojourn import programs
from sojourn.actors.probes import resources as probe
from sojourn.actors.probes.use import Use
from sojourn.host import usage
from sojourn.host.tree import Tree
from sojourn.knobs import Knob
from sojourn.places import proc

FRAMES, FRAME_BYTES = 500, 1000
TUN = Path("/dev/net/tun")
#: A process that is to a tap what QEMU is: in a network of its own, and each frame is its guest's.
TAPPED = f"""
import fcntl, os, socket, struct, sys
from pathlib import Path
import ctypes
assert ctypes.CDLL(None, use_errno=True).unshare(0x40000000) == 0, "no network of its own"
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH22x", b"test-t", 0x1002))
with socket.socket() as asked:
    fcntl.ioctl(asked, 0x8914, struct.pack("16sH22x", b"test-t", 1))
print("up", flush=True)
for line in sys.stdin:
    for _ in range({FRAMES}):
        os.write(tap, bytes.fromhex("ffffffffffff0200000000010800") + bytes({FRAME_BYTES - 14}))
    print("sent", flush=True)
"""


class Limited:
    """The knob of what a service may send."""

    def read(self) -> str:
        return "3MB/s"


def test_a_limit_of_sending_counts_where_the_link_is_its_own() -> None:
    on = cast("Mapping[str, Knob]", {"egress": Limited()})
    assert probe.sent_most(on, ["eth0"]) == {"network_tx_bytes_per_s": 3e6}
    assert probe.sent_most(on, ["lo"]) == {}
    assert probe.sent_most({}, ["eth0"]) == {}


def wait(is_so: Callable[[], bool], within_s: float = 60.0) -> None:
    until = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.01)


def wait_for_a_sample(pid: int) -> None:
    """Until the sampler took one whole sample more: it waits for a signal between two samples."""

    def waits() -> bool:
        return "sigtimedwait" in Path(f"/proc/{pid}/wchan").read_text("ascii")

    wait(waits)
    asleep = proc.sleeps(pid, pid)
    wait(lambda: proc.sleeps(pid, pid) > asleep and waits())


@pytest.mark.skipif(
    os.geteuid() != 0 or not TUN.exists(), reason="a tap needs root and a kernel with tun"
)
def test_bytes_of_a_guest_are_counted_at_a_real_tap_of_a_real_process(tmp_path: Path) -> None:
    """Through the program that samples, as while load runs; the guest is a fake."""
    record = tmp_path / "counters.json"
    words = [sys.executable, "-I", "-S", "-c", TAPPED]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **pipes, start_new_session=True) as fake:  # type: ignore[call-overload]
        assert fake.stdout.readline() == "up\n"
        use = Use(
            Tree(),
            fake.pid,
            (0,),
            apart=(),
            period_s=0.05,
            all_cpus=os.cpu_count() or 1,
            outside=usage.Outside(tap="test-t"),
        )
        program = str(programs.find("sojourn-counters"))
        sampler = [program, *use.words, "--json", str(record)]
        with subprocess.Popen(sampler) as counters:
            wait_for_a_sample(counters.pid)
            fake.stdin.write("go\n")
            fake.stdin.flush()
            assert fake.stdout.readline() == "sent\n"
            wait_for_a_sample(counters.pid)
            counters.terminate()
            assert counters.wait(60) == 0
        fake.kill()
    use.read(record)
    table = use.table(llc_bytes=None)
    rates = table["columns"]["network_tx_bytes_per_s"]
    sent = sum(rate * s for rate, s in zip(rates, table["length_s"], strict=True) if rate)
    assert sent == pytest.approx(FRAMES * FRAME_BYTES, rel=0.2)  # lengths are of whole samples
    assert table["interfaces"] == ["test-t"]
    assert table["columns"]["resident_bytes"][0] > 0
    assert "guest's memory" in table["not_counted"]["disk_write_bytes_per_s"]
    assert table["not_counted"]["llc_bytes"]
    assert table["storage_link"] == ""
