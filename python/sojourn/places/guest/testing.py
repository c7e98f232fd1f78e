"""What tests of guests share: a kernel that is none, and a QEMU that is none."""

from __future__ import annotations

import signal
from pathlib import Path

from sojourn.install.part import Made
from sojourn.install.vm import BUSYBOX, KERNEL, MODULES
from sojourn.places.process import Process
from sojourn.places.process_end import Ended

ENDED = Ended(status=0, cpu_s=1.5, rss_kb_max=7, is_clean=True)


def made(at: Path) -> Made:
    """Files as they would be fetched; none is what its name says."""
    (at / MODULES).mkdir(parents=True, exist_ok=True)
    for name in (KERNEL, BUSYBOX, f"{MODULES}/00-failover.ko", f"{MODULES}/01-virtio_net.ko"):
        (at / name).write_text(name, encoding="ascii")
    return Made(at=at, files={})


class FakeQemu(Process):
    """A QEMU that ends when it is told to."""

    def __init__(self) -> None:
        """It runs until it is told to end."""
        self.what, self.pid = "web", 4711
        self.ended: Ended | None = None
        self.ends = ENDED
        self.sent: list[int] = []

    def fileno(self) -> int:
        """None: there is nothing to wait for."""
        return -1

    def poll(self, within_s: float = 0.0) -> Ended | None:
        """How it ended, if it was made to."""
        del within_s
        return self.ended

    def send(self, number: signal.Signals) -> None:
        """Keep in mind what it was sent."""
        self.sent.append(int(number))

    def stop(self, *, term_s: float = 5.0, first: signal.Signals = signal.SIGTERM) -> Ended:
        """It ends at once, as it was set to."""
        del term_s, first
        self.ended = self.ended or self.ends
        return self.ended
