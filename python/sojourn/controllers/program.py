"""A controller in any language: a program that reads looks and answers, by lines.

    to its stdin     {"t_s": 12.3, "cpus": 2, "groups": {…}, "signals": {…}}
    from its stdout  {"changes": [{"group": "batch", "knob": "quota", "level": 0.5, "reason": "…"}]}

It must read the look and answer within a second, with one line and no other. What it keeps between
two looks is its own affair, so a replay is byte-identical only if the program is deterministic. It
is started without a shell, in a session of its own: a ^C is the manager's, which then ends the
program in order. What it has started ends with it, as far as that is still in its process group.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Collection, Mapping
from types import MappingProxyType, TracebackType
from typing import Annotated, Self

from pydantic import Field, ValidationError

from sojourn.controllers.look import Change, Decision, History, Knob, Part, mistake
from sojourn.errors import RunFault, SpecFault

PREFIX = "program:"
ANSWER_S = 1.0
END_S = 2.0
LINE_BYTES = 1 << 16
NAME_MAX = 64  # characters: no group and no level has more


class _Change(Part):
    group: Annotated[str, Field(max_length=NAME_MAX)]
    knob: Knob
    level: bool | int | float | Annotated[str, Field(max_length=NAME_MAX)] | None
    reason: Annotated[str, Field(max_length=500)]


class _Answer(Part):
    changes: tuple[_Change, ...]


class Program:
    """A foreign program that decides."""

    constants: Mapping[str, float] = MappingProxyType({})
    on_services: Collection[Knob] = ("cores", "weight")

    def __init__(self, command: str) -> None:
        """Nothing is started yet; SpecFault if the command is empty or has open quotes."""
        self.name = f"{PREFIX}{command}"
        try:
            self._argv = shlex.split(command)
        except ValueError as error:
            raise self._wrong(str(error)) from None
        if not self._argv:
            raise self._wrong("there is no command")
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def _wrong(self, why: str) -> SpecFault:
        return SpecFault(f"controller '{self.name}': {why}", at="controller", fix="program:COMMAND")

    def __enter__(self) -> Self:
        try:
            self._process = subprocess.Popen(  # the user named it
                self._argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise self._wrong(f"cannot be started: {error.strerror}") from None
        assert self._process.stdin is not None  # noqa: S101  # it was started with a pipe
        os.set_blocking(self._process.stdin.fileno(), False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            if process.stdin:
                process.stdin.close()
        _await(process.pid, END_S)
        # It is not reaped, so no other group of processes can have its number yet.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # one that may not be killed stays
            process.wait(END_S)
        if process.stdout:
            process.stdout.close()

    def decide(self, history: History) -> Decision:
        """Ask it; RunFault where it ended, is too slow, or answers nonsense."""
        process = self._process
        if process is None or process.stdin is None:
            raise self._failed("is not running")
        self._refuse_more(process)
        text = history.now.model_dump_json().encode() + b"\n"
        until = time.monotonic() + ANSWER_S
        self._send(process.stdin.fileno(), text, until)
        line = self._line(process, until)
        try:
            answer = _Answer.model_validate_json(line)
        except ValidationError as error:
            raise self._failed(f"answered what is no decision: {mistake(error)}") from None
        return Decision(changes=tuple(Change(**dict(one)) for one in answer.changes))

    def _refuse_more(self, process: subprocess.Popen[bytes]) -> None:
        """RunFault where there is a line already: taken for the answer, it would be an old one."""
        assert process.stdout is not None  # noqa: S101  # it was started with a pipe
        if not self._rest and select.select([process.stdout], [], [], 0)[0]:
            self._rest = os.read(process.stdout.fileno(), LINE_BYTES)
        if self._rest:
            raise self._failed("answered before it was asked, or twice")

    def _send(self, handle: int, text: bytes, until: float) -> None:
        """Write all of it, a part at a time: a full pipe must not stop the manager."""
        rest = memoryview(text)
        while rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([], [handle], [], left)[1]:
                raise self._failed(f"did not read a look within {ANSWER_S:g} s")
            try:
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(handle, rest) :]
            except OSError:
                raise self._failed("has ended") from None

    def _line(self, process: subprocess.Popen[bytes], until: float) -> bytes:
        assert process.stdout is not None  # noqa: S101  # it was started with a pipe
        while b"\n" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                raise self._failed(f"did not answer within {ANSWER_S:g} s")
            part = os.read(process.stdout.fileno(), LINE_BYTES)
            if not part:
                raise self._failed("has ended")
            self._rest += part
            if len(self._rest) > LINE_BYTES:
                raise self._failed(f"answered more than {LINE_BYTES} bytes")
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _failed(self, why: str) -> RunFault:
        fix = "run the command by hand and write one look to it"
        return RunFault(f"the controller's program {why}", at=self.name, fix=fix)


def _await(pid: int, longest_s: float) -> None:
    """Wait until a child has ended, without reaping it."""
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            select.select([handle], [], [], longest_s)
        finally:
            os.close(handle)
