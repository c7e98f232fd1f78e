"""Runs of `sojourn-load`: job files in, result files out, watched in between.

The lab sleeps while load runs: it is woken by the end of the generator, by the end of the server,
and by the generator's line of progress. On a machine with two CPUs it shares one with the client,
and every wake-up stops the client for about a millisecond. So a line comes every `LINE_S` and at
the end of the load; every second where somebody decides by it (`Watcher.every_s`).
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from sojourn import disk, programs
from sojourn.errors import Exit, Fault, RunFault, SpecFault
from sojourn.host.tree import cpu_list
from sojourn.places import process, process_end
from sojourn.places.process import Ledger, Process
from sojourn.places.process_end import Ended
from sojourn.run import environment, signals, unprivileged
from sojourn.run.generator_job import (
    FAULT,
    JOB_SCHEMA,
    PROGRAM,
    Files,
    drain_length_s,
    length_s_max,
)
from sojourn.run.generator_output import Pipe, summed
from sojourn.run.unprivileged import Run
from sojourn.run.watch import Deadline

VALID = (Exit.OK, Exit.VIOLATED, Exit.UNKNOWN)
LINE_S = 5.0  # between two lines of progress, where no one decides by them
END_S_MAX = 15.0  # from ^C to the written result, on top of the drain


class Watcher:
    """What else has to be looked at while load runs; the session knows the server."""

    @property
    def every_s(self) -> float:
        """How long between two lines of progress, s."""
        return LINE_S

    def sources(self) -> list[int]:
        """File numbers that become readable when something happened."""
        return []

    def look(self) -> None:
        """Look at what happened; raises if the run cannot go on."""

    def of_load(self, nth: int, line: Mapping[str, Any]) -> None:
        """What the generators of one of several loads reported last, summed up; before `second`."""

    def groups(self, nth: int) -> Sequence[Path]:
        """Folders of control groups in which a generator of one of several loads is to start."""
        del nth
        return ()

    def started(self, nth: int, generator: Process) -> None:
        """A generator of that load has started; its first process opened its session."""

    def second(self, line: Mapping[str, Any]) -> None:
        """A line of progress, every `every_s` and at the end; raises if the run cannot go on."""


def run(
    job: Mapping[str, Any], files: Files, ledger: Ledger, watcher: Watcher | None = None
) -> Mapping[str, Any]:
    """Run the generator to its end.

    Returns:
        Its result.

    Raises:
        SpecFault: it refuses the job.
        RunFault: it failed, or `watcher` reported so. What was measured until then is in the result
            file all the same.
    """
    return together([(job, files)], ledger, watcher)[0]


def together(
    parts: Sequence[tuple[Mapping[str, Any], Files]],
    ledger: Ledger,
    watcher: Watcher | None = None,
    owners: Sequence[int] = (),
) -> list[Mapping[str, Any]]:
    """Run several generators at once; where one fails, all are ended.

    The first is the one whose seconds are shown, with what the others reported last added to them.

    Args:
        parts: job and files of each.
        ledger: where it is noted what is started.
        watcher: looks at what else there is.
        owners: for each the load that it is a part of; (): all have one of their own.

    Returns:
        Their results, in order.

    Raises:
        SpecFault, RunFault: as `run`, of the first that failed.
    """
    watcher = watcher or Watcher()
    deadline = Deadline(max(length_s_max(job) for job, _ in parts))
    started: list[_Started] = []
    try:
        for nth, (job, files) in enumerate(parts):
            owner = owners[nth] if owners else nth
            groups = watcher.groups(owner)
            with signals.deaf():  # until it is among those that are ended
                made = _start(job, files, ledger, watcher.every_s, groups)
                started.append(_Started(job, files, *made))
            watcher.started(owner, made[0])
        _follow(started, watcher, deadline, owners or range(len(parts)))
    finally:
        with ExitStack() as every:  # each is ended, also if a ^C comes while another is
            for one in reversed(started):
                every.callback(one.end)
    for one in started:  # one that failed says why, and those that were ended for its sake do not
        if one.has_failed:
            raise _fault(one.ended, one.files)
    return [_result(one.ended, one.files) for one in started]


def _start(
    job: Mapping[str, Any], files: Files, ledger: Ledger, every_s: float, groups: Sequence[Path]
) -> tuple[Process, Run]:
    program = programs.find(PROGRAM)
    how = unprivileged.run(job, files.result, program)
    # A study puts its runs together, so each gives its own quantile's verdict (M28).
    disk.keep_json(files.job, {"schema": JOB_SCHEMA, "pooled": True, **how.job}, indent=1)
    files.result.unlink(missing_ok=True)
    started = process.start(
        PROGRAM,
        [
            *(program, "--job", "-", "--json", how.result),
            *("--progress", "json", "--progress-every", f"{every_s:g}s"),
        ],
        cwd=how.folder,
        user=how.user,
        keeps=unprivileged.CAPABILITIES,
        ledger=ledger,
        log=files.log,
        stdin=files.job,
        cpus=_cpus(job),
        has_stderr_pipe=True,
        is_first=True,
        variables=environment.of(job),
        groups=groups,
    )
    return started, how


def _cpus(job: Mapping[str, Any]) -> tuple[int, ...]:
    """Where it may run: on the CPUs of its job, and where the lab may.

    The lab keeps itself to CPUs that the client need not have, and what it starts inherits them.
    """
    asked = cpu_list(str(job.get("cpus", "")))
    return tuple(sorted({*asked, *os.sched_getaffinity(0)})) if asked else ()


class _Started:
    """A generator that was started, what is left of its last line, and how it ended."""

    def __init__(self, job: Mapping[str, Any], files: Files, generator: Process, how: Run) -> None:
        self.job, self.files, self.generator, self._how = job, files, generator, how
        self._ended: Ended | None = None
        self._texts: Pipe | None = None

    @property
    def ended(self) -> Ended:
        """How it ended; it has."""
        assert self._ended is not None  # noqa: S101  # asked for when all have
        return self._ended

    @property
    def is_running(self) -> bool:
        """Whether it was not seen to end."""
        return self._ended is None

    @property
    def has_failed(self) -> bool:
        """Whether it ended without a result that may be read."""
        return self._ended is not None and self._ended.status not in VALID

    @property
    def pipe(self) -> int:
        """File number of what it says."""
        assert self.generator.stderr is not None  # noqa: S101  # it was asked for
        return self.generator.stderr.fileno()

    def hear(self, ready: Collection[int], second: Callable[[Mapping[str, Any]], None]) -> None:
        """Read what it says and whether it has ended; hand on its seconds, log all else."""
        self._texts = result = self._texts or Pipe(self.pipe, second, self._log)
        if result.number in ready:
            result.read()
        ended = self.generator.poll()
        if ended is not None:
            result.drain()
            self._ended = ended

    def _log(self, line: bytes) -> None:
        try:
            with disk.append(self.files.log) as log:
                log.write(line)
        except OSError as error:
            raise disk.disk_fault(error, self.files.log) from None

    def end(self) -> None:
        """End it, if it has not ended: the server is gone, or a signal ends the lab."""
        with signals.deaf():
            if self.generator.poll() is None:
                drain_s = drain_length_s(self.job)
                self.generator.stop(first=signal.SIGINT, term_s=END_S_MAX + drain_s)
            if self.generator.stderr is not None:
                self.generator.stderr.close()
            self._how.take_over(self.files.result.parent)


def _follow(
    started: Sequence[_Started], watcher: Watcher, deadline: Deadline, owners: Sequence[int]
) -> None:
    """Wait until all have ended, or one has failed; hand on lines of progress."""
    last: dict[int, Mapping[str, Any]] = {}

    def hand_on(nth: int, line: Mapping[str, Any]) -> None:
        last[nth] = line
        own = [one for other, one in last.items() if owners[other] == owners[nth]]
        watcher.of_load(owners[nth], summed(own))
        if nth == 0:
            watcher.second(summed(list(last.values())))

    running = list(enumerate(started))
    while running:
        numbers = [number for _, one in running for number in (one.pipe, one.generator.fileno())]
        ready, _, _ = select.select([*numbers, *watcher.sources()], [], [], deadline.left_s)
        for nth, one in running:
            one.hear(ready, partial(hand_on, nth))
        if any(one.has_failed for one in started):
            return
        running = [(nth, one) for nth, one in running if one.is_running]
        if not running:
            return
        watcher.look()
        if deadline.is_over:
            files = running[0][1].files
            raise RunFault(
                f"{PROGRAM} did not end within {deadline.length_s:.0f} s",
                at=str(files.job),
                fix=f"see {files.log}; if the machine was stopped meanwhile, run again",
            )


def _result(ended: Ended, files: Files) -> Mapping[str, Any]:
    if ended.status in VALID:
        try:
            table: Mapping[str, Any] = disk.read_json(files.result)
        except (OSError, ValueError) as error:
            raise RunFault(
                f"{PROGRAM} wrote no result: {error}",
                at=str(files.result),
                fix=f"see {files.log}; is the disk full?",
            ) from None
        return table
    raise _fault(ended, files)


def _fault(ended: Ended, files: Files) -> Fault:
    """What the generator says of its failure, in its own three parts."""
    words = process_end.last_words(files.log, lines=50).replace(" | ", "\n")
    match = FAULT.search(words)
    kind = SpecFault if ended.status == Exit.USAGE else RunFault
    if match and ended.status > 0:
        what, at, fix = match.groups()
        return kind(f"{PROGRAM}: {what}", at=f"{at} ({files.job})", fix=fix)
    return kind(
        f"{PROGRAM} {ended.text}",
        at=str(files.job),
        fix=f"see {files.log}: {words or 'it is empty'}",
    )
