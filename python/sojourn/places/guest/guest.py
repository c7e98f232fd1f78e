"""A service in a guest: QEMU outside, as the machine numbers it, and the agent inside.

QEMU is the process that is pinned, weighed and counted. How the service fares is the agent's to
say; QEMU that ends before it was said has lost its guest, and the console tells why.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from sojourn.places import server_files
from sojourn.places.guest import qemu
from sojourn.places.guest.channel import Channel
from sojourn.places.guest.qemu import CONSOLE
from sojourn.places.process import Process
from sojourn.places.process_end import Ended
from sojourn.places.task import Task

BOOT_S_MAX = 120.0  # translated, on two CPUs that others use as well
ANSWER_S_MAX = 10.0
FILE_BYTES_MAX = 1 << 20
DIGITS_MAX, LACKS_MAX, TASKS_MAX = 16, 100, 100_000  # of what a guest says: it is not ours
OUT_OF_MEMORY = "Out of memory: Killed process"
BY_SIGNAL = 128  # a shell's status of a program that a signal ended, less the signal


def _whole(text: str) -> int | None:
    """A number that the guest says, which may be any text; None if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < DIGITS_MAX else None


class Guest(Process):
    """A service in a virtual machine.

    Attributes:
        booted_s: time from QEMU's start until the service was started; None: not yet.
        clock_off_s: how far its clock is from this machine's; None: it was not set.
        unsaved: why its state was not saved; "": it was, or need not be.
        verbs: what is done when the agent first says a word, with the rest of its line.
        channel: to the agent.
    """

    def __init__(
        self, outer: Process, channel: Channel, *, at: Path, work: Path, log: Path
    ) -> None:
        """Take it over from its start on.

        Args:
            outer: QEMU.
            channel: to the agent.
            at: folder with the console.
            work: the service's working folder, to which what it leaves new is brought back.
            log: what the service says; a lost guest's last words are added.
        """
        self.what = outer.what
        self.pid = outer.pid
        self.booted_s: float | None = None
        self.clock_off_s: float | None = None
        self.unsaved = ""
        self.verbs: dict[str, Callable[[str], None]] = {}
        self.channel = channel
        self._outer = outer
        self._at, self._work, self._log = at, work, log
        self._began = time.monotonic()
        self._status: int | None = None
        self._is_through = False
        self._lacks: list[str] = []
        self._ended: Ended | None = None

    def fileno(self) -> int:
        """As of QEMU: it is ended when the service has."""
        return self._outer.fileno()

    def poll(self, within_s: float = 0.0) -> Ended | None:
        """How the service ended, or its guest was lost; None if it runs, or its guest boots."""
        end = time.monotonic() + within_s
        while self._ended is None:
            self._listen()
            if self._is_through:
                self._ended = self._reports(self._outer.stop(term_s=0.0))
            elif (outer := self._outer.poll()) is not None:
                self._listen()
                self._ended = self._reports(outer)
            elif self.booted_s is None and time.monotonic() > self._began + BOOT_S_MAX:
                self._ended = self._reports(self._outer.stop(term_s=0.0))
            elif (left := end - time.monotonic()) > 0:
                self._listen(min(left, 0.1))
            else:
                break
        if self._ended is not None:
            self.channel.close()
        return self._ended

    @property
    def is_up(self) -> bool:
        """Whether its guest has booted and started it."""
        return self.booted_s is not None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the service, by its agent."""
        if self.poll() is None:
            self.channel.say(f"signal {int(number)}")

    def stop(self, *, term_s: float = 5.0, first: signal.Signals = signal.SIGTERM) -> Ended:
        """End it: ask the service, wait, end QEMU. One that still boots is not asked."""
        self.poll()  # it may have come up since it was last heard
        if self.booted_s is not None:
            self.send(first)
            self.poll(term_s)
        ended = self._outer.stop(term_s=0.0, first=signal.SIGKILL)
        if self._ended is None:
            self._listen()
            status = self._status if self._status is not None else -int(signal.SIGKILL)
            self._ended = replace(ended, status=status, message="")
        self.channel.close()
        return self._ended

    def owner(self, port: int) -> bool:
        """Whether the service listens on a port, inside."""
        answer = next(self._ask(f"port {port}", "owner"), "")
        return bool(answer) and answer != "0"

    def tasks(self) -> tuple[Task, ...]:
        """Threads of the service, as the guest numbers them; none: the agent did not answer."""
        results: list[Task] = []
        for line in self._ask("tasks", "task", until="tasks"):
            head, _, command = line.partition("\t")
            pid, tid, name = (*head.split(" ", 2), "", "", "")[:3]
            process, thread = _whole(pid), _whole(tid)
            if process is not None and thread is not None and len(results) < TASKS_MAX:
                results.append(Task(pid=process, tid=thread, name=name, command=command.strip()))
        return tuple(results)

    def pin(self, tid: int, vcpu: int) -> bool:
        """Put a thread on one of the guest's CPUs; whether it is there, read back."""
        answer = next(self._ask(f"pin {tid} {vcpu}", "pinned"), "")
        with contextlib.suppress(ValueError):
            return int(answer.split(" ")[-1], 16) == 1 << vcpu
        return False

    def work(self, rounds: int) -> int | None:
        """Time that its agent takes for a loop of so many rounds, ns; None: it did not answer."""
        began_ns = time.monotonic_ns()
        answer = next(self._ask(f"work {rounds}", "worked"), None)
        return None if answer is None else time.monotonic_ns() - began_ns

    def _ask(self, question: str, verb: str, *, until: str = "") -> Iterator[str]:
        """The rest of each line of the answer that begins with `verb`; the last, or all `until`."""
        if not self.channel.say(question):
            return
        end = time.monotonic() + ANSWER_S_MAX
        while (line := self.channel.line(max(0.0, end - time.monotonic()))) is not None:
            head, _, rest = line.partition(" ")
            if head == verb:
                yield rest
                if not until:
                    return
            elif line == until:
                return
            else:
                self._heed(line)

    def _listen(self, within_s: float = 0.0) -> None:
        """Heed what the agent has said by itself."""
        while (line := self.channel.line(within_s)) is not None:
            self._heed(line)
            within_s = 0.0

    def _heed(self, line: str) -> None:
        verb, _, rest = line.partition(" ")
        if verb == "up":
            self.booted_s = time.monotonic() - self._began
        elif verb == "lacks":
            self._lacks = [*self._lacks, rest][:LACKS_MAX]
        elif verb == "exited" and (status := _whole(rest)) is not None:
            self._status = status if status <= BY_SIGNAL else BY_SIGNAL - status
        elif verb == "file":
            self._bring(*rest.partition(" ")[::2])
        elif verb == "end":
            self._is_through = True
        elif (act := self.verbs.pop(verb, None)) is not None:
            act(rest)

    def _bring(self, size: str, name: str) -> None:
        """Keep a file that the service has left new in its working folder, under its own name."""
        length = _whole(size)
        data = None if length is None else self.channel.data(length, ANSWER_S_MAX)
        plain = PurePosixPath(name)
        is_own = len(plain.parts) == 1 and name not in {".", ".."} and "\0" not in name
        path = self._work / name
        if data is None or not is_own or len(data) > FILE_BYTES_MAX or path == self._log:
            return
        with contextlib.suppress(OSError):
            server_files.remove(path)
            handle = server_files.opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            with os.fdopen(handle, "wb") as file:
                file.write(data)

    def _reports(self, outer: Ended) -> Ended:
        """How it ended: as the agent reported, or how its guest was lost."""
        console = self._at / CONSOLE
        text = qemu.last_words(console)
        if self._status is not None:
            # How QEMU ended is not how the service did.
            ended = replace(outer, status=self._status, message="")
            if OUT_OF_MEMORY not in text:
                return ended
            self._note(text.splitlines())
            return replace(ended, message=f"{ended.text}: its guest had too little memory for it")
        self._note([*self._lacks, *text.splitlines()])
        if why := qemu.panic(console):
            return replace(
                outer, message=f"was lost with its guest: the guest's kernel panicked ({why})"
            )
        if self.booted_s is None and time.monotonic() > self._began + BOOT_S_MAX:
            return replace(outer, message=f"has no guest: none had booted after {BOOT_S_MAX:.0f} s")
        if self.booted_s is None:
            return replace(outer, message=f"has no guest: QEMU {outer.text}")
        return replace(outer, message=f"was lost with its guest: QEMU {outer.text}")

    def _note(self, lines: list[str]) -> None:
        """Add the guest's last words to the service's log, which is stored with the point."""
        with contextlib.suppress(OSError):
            handle = server_files.opened(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            with os.fdopen(handle, "a", encoding="utf-8") as file:
                file.writelines(f"guest: {line}\n" for line in lines)
