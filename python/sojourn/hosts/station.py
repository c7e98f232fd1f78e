"""The driver's end of a stage on another host: lines to it, and its answers.

A thread asks the host's agent once a second, ten times as often while the driver waits. These
questions are also the sign of life without which the agent ends the stage (`agent.LEASE_S`).
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from sojourn import disk, errors
from sojourn.errors import Fault, HostFault, RunFault
from sojourn.hosts import answers
from sojourn.hosts.crew import ANSWER_S_MAX, HIRE_S_MAX, RESUMES
from sojourn.hosts.engine import Engine, Facts, LostError, Node, Pending, Remote
from sojourn.run.watch import Event, Show
from sojourn.spec.hosts import NeedsSpec
from sojourn.visible import in_line

BEAT_S, NEAR_S = 1.0, 0.1
STEP_S_MAX = 1800.0  # of a data set that is made, filled and warmed
FILES_S_MAX = 60.0
END_S_MAX = 20.0
NEVER = ("load", "point", "run", "hosts", "outcome")  # files of a point that are the driver's


class Station:
    """One host of a role other than client."""

    def __init__(
        self, role: str, node: Node, engine: Engine, show: Show, *, own: Facts, needs: NeedsSpec
    ) -> None:
        """Hire its agent, and see whether the host has what the role needs.

        Raises:
            HostFault: it has not.
            RunFault: its agent does not come.
        """
        self.role, self.node = role, node
        self._engine, self._show, self._own, self._needs = engine, show, own, needs
        self._lines: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._heard, self._wake = socket.socketpair()
        self._wake.settimeout(0)
        self._near, self._stop = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self.is_lost = False
        self.facts: Facts = {}
        self._remote: Remote | None = None
        try:
            self._hire()
        except BaseException:
            self.close()
            raise

    @property
    def text(self) -> str:
        """Role and place, as people read it."""
        return f"{self.role} on {self.node.text}"

    def _hire(self) -> None:
        try:
            self._remote = self._engine.hire(self.node)
            self.facts = answers.table(self._remote.ask("hello").result(HIRE_S_MAX))
            self._check_version()
            self.facts = answers.facts(self.facts)
        except LostError as error:
            raise self._lost(f"does not come: {error}") from None
        self._check_needs()

    def _check_version(self) -> None:
        for what in ("version", "generator"):
            if (there := str(self.facts.get(what))) != (here := str(self._own[what])):
                raise HostFault(
                    f"{self.node.text} has {there or 'no sojourn-load'}, this host {here}",
                    at=f"hosts.{self.role}",
                    fix="install the same sojourn on every host",
                )

    def _check_needs(self) -> None:
        cpus, needs = len(self.facts.get("cpus") or ()), self._needs
        at = f"hosts.needs.{self.role}"
        if cpus < needs.cpus:
            raise HostFault(
                f"{self.node.text} has {cpus} CPU{'s' * (cpus != 1)}, the role {self.role} needs "
                f"{needs.cpus}",
                at=f"{at}.cpus",
                fix=f"ask for fewer, or name another host in hosts.{self.role}",
            )
        if lacking := [one for one in needs.features if one not in self.facts["features"]]:
            raise HostFault(
                f"{self.node.text} lacks what the role {self.role} needs: {', '.join(lacking)}",
                at=f"{at}.features",
                fix=f"leave it out, or name another host in hosts.{self.role}",
            )

    def begin(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Start its stage; what that says of the study there.

        Raises:
            Fault: it cannot be started, or refuses.
        """
        with self.understood():
            fault = answers.fault(self.ask("stage_open", dict(message)))
        if fault is not None:
            raise RunFault(in_line(fault["what"]), at=self.text, fix=in_line(fault["fix"]))
        self.is_lost = False
        self._stop = threading.Event()
        own = self._remote, self._lines, self._stop  # so that it outlives its agent harmlessly
        self._thread = threading.Thread(target=self._beat, args=own, name=self.text, daemon=True)
        self._thread.start()
        return self.wait("open")

    def ask(self, name: str, *args: Any, within_s: float = ANSWER_S_MAX) -> Any:
        """Ask its agent; RunFault where there is no answer."""
        return self.answer(self.asked(name, *args), within_s)

    def asked(self, name: str, *args: Any) -> Pending:
        """Ask its agent, without waiting for the answer; RunFault where it cannot be asked."""
        assert self._remote is not None  # noqa: S101  # it was hired
        with self.understood():
            return self._remote.ask(name, *args)

    def answer(self, pending: Pending, within_s: float = ANSWER_S_MAX) -> Any:
        """What it was asked; RunFault where there is no answer."""
        with self.understood():
            return pending.result(within_s)

    @contextlib.contextmanager
    def understood(self) -> Iterator[None]:
        """It is lost if there is no answer in here, or `answers` makes no sense of it."""
        try:
            yield
        except LostError as error:
            self.is_lost = True
            raise self._lost(f"was lost: {error}") from None

    def tell(self, do: str, **more: Any) -> None:
        """Say something to its stage."""
        self.ask("stage_tell", {"do": do, **more})

    def send(self, do: str, **more: Any) -> Pending:
        """The same, without waiting for the agent."""
        return self.asked("stage_tell", {"do": do, **more})

    def fileno(self) -> int:
        """Readable once something was heard."""
        return self._heard.fileno()

    def wait(self, *words: str, within_s: float = STEP_S_MAX) -> dict[str, Any]:
        """The next line with one of these words; events before it are shown.

        Raises:
            Fault: as the stage had it, or it was lost.
        """
        until_s = time.monotonic() + within_s
        self._near.set()
        try:
            while True:
                try:
                    reply = self._lines.get(timeout=max(0.1, until_s - time.monotonic()))
                except queue.Empty:
                    raise self._lost(f"was not ready within {within_s:.0f} s") from None
                if reply["say"] in words:
                    return reply
                self._look(reply)
        finally:
            self._near.clear()

    def look(self) -> None:
        """Look at what was heard while load runs; raises if the run cannot go on."""
        with contextlib.suppress(OSError):
            self._heard.recv(4096)
        while not self._lines.empty():
            reply = self._lines.get()
            if reply["say"] == "done":  # before it is over: it failed
                self._lines.put(reply)
                raise fault_of(reply, self.text)
            self._look(reply)

    def notice(self) -> None:
        """Notice whether its stage has ended since it was last asked for anything."""
        while not self._lines.empty():
            with contextlib.suppress(Fault):
                self._look(self._lines.get())

    def _look(self, reply: Mapping[str, Any]) -> None:
        if reply["say"] == "event":
            text = f"{in_line(reply['text'])} (on {self.node.text})"
            step, service = in_line(reply["step"]), in_line(reply["service"])
            self._show(Event(step=step, text=text, service=service))
        elif reply["say"] == "fault":  # with which it ends
            self.is_lost = True
            raise fault_of(reply, self.text)
        elif reply["say"] in {"ended", "lost"}:
            self.is_lost = True
            raise self._lost(f"was lost: {reply.get('why') or 'its stage ended'}")

    def _beat(
        self, remote: Remote, lines: queue.SimpleQueue[dict[str, Any]], stop: threading.Event
    ) -> None:
        while not stop.is_set():
            try:
                reply = remote.ask("stage_heard").result(ANSWER_S_MAX)
                heard = [answers.line(one) for one in answers.listed(reply)]
            except LostError as error:
                heard = [{"say": "lost", "why": str(error)}]
            for line in heard:
                lines.put(line)
            if heard:
                with contextlib.suppress(OSError):
                    self._wake.send(b".")
            if any(line["say"] in {"lost", "ended"} for line in heard):
                return
            until_s = time.monotonic() + BEAT_S
            while not stop.is_set() and time.monotonic() < until_s:
                if self._near.wait(NEAR_S):
                    stop.wait(NEAR_S)
                    break

    def bring(self, folders: Sequence[Path]) -> None:
        """Bring home the files of a point: of each folder there into the one here."""
        with self.understood():
            every = answers.files(self.ask("stage_files", within_s=FILES_S_MAX))
        for files, folder in zip(every, folders, strict=False):
            for name, content in files.items():
                if not name.startswith((".", *NEVER)):
                    disk.keep_whole(folder / name, partial(_fill, content))

    def _lost(self, why: str) -> RunFault:
        return RunFault(f"{self.text} {why}", at=f"hosts, {self._engine.about}", fix=RESUMES)

    def again(self, nodes: Sequence[Node]) -> None:
        """Hire it again after it was lost; a node that was started again has another id.

        Raises:
            RunFault: its node has left the cluster, or its agent does not come.
        """
        self._end()
        here = [n for n in nodes if n.id == self.node.id or n.address == self.node.address]
        if not here:
            raise self._lost("has no host: the node has left the cluster")
        self.node = here[0]
        self._lines = queue.SimpleQueue()
        self._hire()

    def close(self) -> None:
        """End its stage and its agent, for good."""
        self._end()
        self._heard.close()
        self._wake.close()

    def _end(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(ANSWER_S_MAX)
            self._thread = None
        remote, self._remote = self._remote, None
        if remote is not None:
            longest_s = ANSWER_S_MAX + (0.0 if self.is_lost else END_S_MAX)
            with contextlib.suppress(LostError):
                remote.ask("stage_close", END_S_MAX).result(longest_s)
            remote.end()


def _fill(content: bytes, file: IO[bytes]) -> None:
    file.write(content)


def fault_of(reply: Mapping[str, Any], where: str) -> Fault:
    """The fault that a stage reports."""
    table = reply["fault"]
    if table is None:
        return RunFault(f"{where}: {answers.NONSENSE}", at="hosts", fix=RESUMES)
    kind = getattr(errors, str(table["kind"]), RunFault)
    kind = kind if isinstance(kind, type) and issubclass(kind, Fault) else RunFault
    what, at, fix = (in_line(str(table[key])) for key in ("what", "at", "fix"))
    return kind(what, at=f"{at}, {where}", fix=fix)
