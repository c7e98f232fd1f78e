"""The process of a domain of libvirt: QEMU, which the lab sees by its number."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable
from pathlib import Path

from sojourn.errors import RunFault
from sojourn.places import proc
from sojourn.places.launch import Launch
from sojourn.places.process import KILL_S_MAX, Process
from sojourn.places.process_end import Ended


class Domain(Process):
    """QEMU as libvirt started it: seen by its number, ended by libvirt, or else by the kernel."""

    def __init__(self, launch: Launch, name: str, file: Path, destroy: Callable[[], None]) -> None:
        """It runs already.

        Args:
            launch: of its service.
            name: of the domain.
            file: with its number, which libvirt removes when it has ended.
            destroy: ends it by libvirt, where it is there.

        Raises:
            RunFault: it has ended meanwhile.
        """
        self.what, self.grouped = launch.what, ("", "")
        self._name, self._destroy = name, destroy
        self._ledger = launch.ledger
        self._ended: Ended | None = None
        try:
            self.pid = int(file.read_text(encoding="ascii"))
            self._handle = os.pidfd_open(self.pid)
        except (OSError, ValueError):
            raise self._lost() from None
        stat = proc.stat(self.pid)
        if stat is None or not self._is_qemu():
            os.close(self._handle)
            raise self._lost()
        self._number = self._ledger.started(self.what, self.pid, stat.start_ticks)

    def _is_qemu(self) -> bool:
        """Whether its number is not another process's by now."""
        try:
            words = Path(f"/proc/{self.pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return any(word.partition(b",")[0] == f"guest={self._name}".encode() for word in words)

    def _lost(self) -> RunFault:
        return RunFault(
            f"{self.what} has no guest: QEMU ended as it was started",
            at=f"domain {self._name}",
            fix="see service.log in the point's folder",
        )

    def fileno(self) -> int:
        """Becomes readable when it has ended; -1 after that was heard."""
        return self._handle

    def poll(self, within_s: float = 0.0) -> Ended | None:
        """That it ended, of which libvirt hides the status; None if it has not within the time."""
        if self._ended is None and select.select([self._handle], [], [], within_s)[0]:
            self._ended = self._end("has ended by itself", 0.0)
        return self._ended

    def send(self, number: signal.Signals) -> None:
        """Send a signal to QEMU, if it is still there."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)

    def stop(self, *, term_s: float = 5.0, first: signal.Signals = signal.SIGTERM) -> Ended:
        """End it: destroy the domain, wait, kill.

        Raises:
            RunFault: it cannot even be killed.
        """
        del term_s, first
        if (ended := self.poll()) is not None:
            return ended
        stat = proc.stat(self.pid)
        self._destroy()
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)  # where libvirt did not
        if not select.select([self._handle], [], [], KILL_S_MAX)[0]:
            raise RunFault(
                f"{self.what} (process {self.pid}) cannot be killed",
                at=f"domain {self._name}",
                fix="it hangs in the kernel: look at dmesg; `sojourn restore` tries again",
            )
        self._ended = self._end("was ended by libvirt", stat.cpu_ns / 1e9 if stat else 0.0)
        return self._ended

    def _end(self, message: str, cpu_s: float) -> Ended:
        """How it ended; what one used that has ended by itself is not known."""
        os.close(self._handle)
        self._handle = -1
        self._ledger.undone(self._number)
        status = -int(signal.SIGKILL)
        return Ended(status=status, cpu_s=cpu_s, rss_kb_max=0, is_clean=True, message=message)
