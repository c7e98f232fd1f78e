"""A controller in any language: a program that reads looks and answers, by lines.

    to its stdin     {"t_s": 12.3, "cpus": 2, "groups": {…}, "signals": {…}}
    from its stdout  {"changes": [{"group": "batch", "knob": "quota", "level": 0.5, "reason": "…"}]}

It must answer within a second. What it keeps between two looks is its own affair, so a replay is
byte-identical only if the program is deterministic. It is started without a shell.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import subprocess
import time
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Annotated, Self

from pydantic import Field, ValidationError

from sojourn.controllers.look import Change, Decision, History, Knob, Part, mistake
from sojourn.errors import RunFault, SpecFault

PREFIX = "program:"
ANSWER_S = 1.0
END_S = 2.0
LINE_BYTES = 1 << 16


class _Change(Part):
    group: str
    knob: Knob
    level: bool | int | float | None
    reason: Annotated[str, Field(max_length=500)]


class _Answer(Part):
    changes: tuple[_Change, ...]


class Program:
    """A foreign program that decides."""

    constants: Mapping[str, float] = MappingProxyType({})

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
                self._argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        except OSError as error:
            raise self._wrong(f"cannot be started: {error.strerror}") from None
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
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()

    def decide(self, history: History) -> Decision:
        """Ask it; RunFault where it ended, is too slow, or answers nonsense."""
        process = self._process
        if process is None or process.stdin is None:
            raise self._failed("is not running")
        try:
            process.stdin.write(history.now.model_dump_json().encode() + b"\n")
        except OSError:
            raise self._failed("has ended") from None
        line = self._line(process)
        try:
            answer = _Answer.model_validate_json(line)
        except ValidationError as error:
            raise self._failed(f"answered what is no decision: {mistake(error)}") from None
        return Decision(changes=tuple(Change(**dict(one)) for one in answer.changes))

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        assert process.stdout is not None  # noqa: S101  # it was started with a pipe
        until = time.monotonic() + ANSWER_S
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
