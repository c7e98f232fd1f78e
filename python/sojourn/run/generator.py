"""One run of `sojourn-load`: a job file in, a result file out, watched in between.

The lab sleeps while load runs: it is woken by the generator's line once a second, by the end of the
generator and by the end of the server. On a machine with two CPUs it shares one with the client,
and every wake-up costs the client.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import programs, units
from sojourn.errors import Exit, Fault, RunFault, SpecFault
from sojourn.places import process
from sojourn.places.process import Ended, Ledger, Process
from sojourn.run import record, signals
from sojourn.run.watch import Deadline

PROGRAM = "sojourn-load"
JOB_SCHEMA = "sojourn.load.job/1"
VALID = (Exit.OK, Exit.VIOLATED, Exit.UNKNOWN)
SAID = re.compile(r"error: (.*)\n\s*at: (.*)\n\s*fix: (.*)")  # a fault's three parts
CHECK_S_MAX = 10.0
END_S_MAX = 15.0  # from ^C to the written result, on top of the drain
SLACK_S = 30.0  # for drawing the plan, opening connections and computing the result
PLAN_RPS_MIN = 1e6  # requests that are drawn and summed up per second, at the least
PRELOAD_RPS_MIN = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Where a run is kept."""

    job: Path
    result: Path
    log: Path

    @classmethod
    def named(cls, folder: Path, name: str) -> Files:
        """The generator's files in a folder: `NAME.job.json`, `NAME.json` and `NAME.log`."""
        return cls(
            job=folder / f"{name}.job.json",
            result=folder / f"{name}.json",
            log=folder / f"{name}.log",
        )


class Watcher:
    """What else has to be looked at while load runs; the session knows the server."""

    def sources(self) -> list[int]:
        """File numbers that become readable when something happened."""
        return []

    def look(self) -> None:
        """Look at what happened; raises if the run cannot go on."""

    def second(self, line: Mapping[str, Any]) -> None:
        """A line of progress; raises if the run cannot go on."""


def run(
    job: Mapping[str, Any], files: Files, ledger: Ledger, watcher: Watcher | None = None
) -> Mapping[str, Any]:
    """Run the generator to its end.

    Returns:
        Its result.

    Raises:
        SpecFault: it refuses the job.
        RunFault: it failed, or `watcher` said so. What was measured until then is in the result
            file all the same.
    """
    watcher = watcher or Watcher()
    record.write_json(files.job, {"schema": JOB_SCHEMA, **job})
    files.result.unlink(missing_ok=True)
    with signals.deaf():
        generator = process.start(
            PROGRAM,
            [programs.find(PROGRAM), "--job", "-", "--json", files.result, "--progress", "json"],
            cwd=files.job.parent,
            ledger=ledger,
            log=files.log,
            stdin=files.job,
            has_stderr_pipe=True,
            is_first=True,
        )
    try:
        ended = _follow(generator, files, watcher, Deadline(length_s_max(job)))
    finally:
        with signals.deaf():
            if generator.poll() is None:  # the server is gone, or a signal ends the lab
                drain_s = _seconds(job, "drain", "2s")
                generator.stop(first=signal.SIGINT, term_s=END_S_MAX + drain_s)
            if generator.stderr is not None:
                generator.stderr.close()
    return _result(ended, files)


def check(job: Mapping[str, Any], *, at: str) -> None:
    """Ask the generator whether a job is right; nothing is sent.

    Args:
        job: as for `run`.
        at: where the study says it.

    Raises:
        SpecFault: it refuses the job.
        RunFault: it does not answer.
    """
    words = [str(programs.find(PROGRAM)), "--job", "-", "--check"]
    text = json.dumps({"schema": JOB_SCHEMA, **job})
    try:
        ended = subprocess.run(
            words, input=text, capture_output=True, text=True, timeout=CHECK_S_MAX, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        fix = "see whether it runs by hand: sojourn-load --version"
        raise RunFault(f"{PROGRAM} could not check the job: {error}", at=at, fix=fix) from None
    if ended.returncode == Exit.OK:
        return
    kind = SpecFault if ended.returncode == Exit.USAGE else RunFault
    said = SAID.search(ended.stderr)
    if said is None:
        raise kind(f"{PROGRAM} refuses the job: {ended.stderr.strip()}", at=at, fix=str(job))
    what, key, fix = said.groups()
    raise kind(f"{PROGRAM}: {what}", at=f"{at}, {key}", fix=fix)


def length_s_max(job: Mapping[str, Any]) -> float:
    """How long a run of this job may take, s."""
    load_s = _seconds(job, "warmup", "1s") + _seconds(job, "duration", "10s")
    requests = load_s * float(job["rate"]) if _is_number(job.get("rate")) else 0.0
    preload_s = float(job.get("items", 0)) / PRELOAD_RPS_MIN if job.get("preload") else 0.0
    drain_s = _seconds(job, "drain", "2s")
    return load_s + drain_s + preload_s + requests / PLAN_RPS_MIN + SLACK_S


def _seconds(job: Mapping[str, Any], key: str, default: str) -> float:
    return units.parse_ns(str(job.get(key, default))) / units.NS_PER_S


def _is_number(text: object) -> bool:
    return re.fullmatch(r"[0-9.]+([eE][+-]?[0-9]+)?", str(text)) is not None


def _follow(generator: Process, files: Files, watcher: Watcher, deadline: Deadline) -> Ended:
    """Wait for the end; hand on lines of progress; keep all other lines in the log."""
    assert generator.stderr is not None  # noqa: S101  # it was asked for
    pipe = generator.stderr.fileno()
    rest = b""
    with files.log.open("ab") as log:
        while True:
            ready, _, _ = select.select(
                [pipe, generator.fileno(), *watcher.sources()], [], [], deadline.left_s
            )
            if pipe in ready:
                rest = _lines(rest + os.read(pipe, 65536), watcher, log.write)
            ended = generator.poll()
            if ended is not None:
                _lines(rest + _drain(pipe) + b"\n", watcher, log.write)
                return ended
            watcher.look()
            if deadline.is_over:
                raise RunFault(
                    f"{PROGRAM} did not end within {deadline.length_s:.0f} s",
                    at=str(files.job),
                    fix=f"see {files.log}; if the machine was stopped meanwhile, run again",
                )


def _drain(pipe: int) -> bytes:
    """What is left in a pipe whose other end is closed."""
    text = b""
    while part := os.read(pipe, 65536):
        text += part
    return text


def _lines(text: bytes, watcher: Watcher, keep: Any) -> bytes:
    """Hand on whole lines; return what is left of the last one."""
    *lines, rest = text.split(b"\n")
    for line in lines:
        second = _second(line)
        if second is not None:
            watcher.second(second)
        elif line.strip():
            keep(line + b"\n")
    return rest


def _second(line: bytes) -> Mapping[str, Any] | None:
    if not line.startswith(b"{"):
        return None
    try:
        table = json.loads(line)
    except ValueError:
        return None
    return table if isinstance(table, dict) else None


def _result(ended: Ended, files: Files) -> Mapping[str, Any]:
    if ended.status in VALID:
        try:
            table: Mapping[str, Any] = json.loads(files.result.read_text(encoding="utf-8"))
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
    words = process.last_words(files.log, lines=50).replace(" | ", "\n")
    said = SAID.search(words)
    kind = SpecFault if ended.status == Exit.USAGE else RunFault
    if said and ended.status > 0:
        what, at, fix = said.groups()
        return kind(f"{PROGRAM}: {what}", at=f"{at} ({files.job})", fix=fix)
    return kind(
        f"{PROGRAM} {ended.text}",
        at=str(files.job),
        fix=f"see {files.log}: {words or 'it is empty'}",
    )
