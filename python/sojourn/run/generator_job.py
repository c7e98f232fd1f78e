"""A job of `sojourn-load`: its files, whether it is right, how long it may take."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import programs, units
from sojourn.errors import Exit, RunFault, SpecFault
from sojourn.places import process
from sojourn.run import environment

PROGRAM = "sojourn-load"
JOB_SCHEMA = "sojourn.load.job/1"
FAULT = re.compile(r"error: (.*)\n\s*at: (.*)\n\s*fix: (.*)")  # a fault's three parts
CHECK_S_MAX = 10.0
SLACK_S = 30.0  # for drawing the plan, opening connections and computing the result
PLAN_RPS_MIN = 1e6  # requests that are drawn and summed up per second, at the least
PRELOAD_RPS_MIN = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Where a run is stored."""

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
            words,
            input=text,
            capture_output=True,
            text=True,
            timeout=CHECK_S_MAX,
            check=False,
            env={**process.environment(), **environment.of(job)},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        fix = "see whether it runs by hand: sojourn-load --version"
        raise RunFault(f"{PROGRAM} could not check the job: {error}", at=at, fix=fix) from None
    if ended.returncode == Exit.OK:
        return
    kind = SpecFault if ended.returncode == Exit.USAGE else RunFault
    match = FAULT.search(ended.stderr)
    if match is None:
        raise kind(f"{PROGRAM} refuses the job: {ended.stderr.strip()}", at=at, fix=str(job))
    what, key, fix = match.groups()
    raise kind(f"{PROGRAM}: {what}", at=f"{at}, {key}", fix=fix)


def length_s_max(job: Mapping[str, Any]) -> float:
    """How long a run of this job may take, s."""
    preload_s = float(job.get("items", 0)) / PRELOAD_RPS_MIN if job.get("preload") else 0.0
    drain_s = drain_length_s(job)
    start_s = max(0.0, float(job.get("start_at", 0)) / units.NS_PER_S - time.monotonic())
    return (
        start_s + load_length_s(job) + drain_s + preload_s + requests(job) / PLAN_RPS_MIN + SLACK_S
    )


def requests(job: Mapping[str, Any]) -> float:
    """Requests that a job's plan holds, warm-up included; 0 where its rate is no plain number."""
    return load_length_s(job) * float(job["rate"]) if _is_number(job.get("rate")) else 0.0


def load_length_s(job: Mapping[str, Any]) -> float:
    """How long a job's load lasts, warm-up included, s."""
    return _seconds(job, "warmup", "1s") + _seconds(job, "duration", "10s")


def drain_length_s(job: Mapping[str, Any]) -> float:
    """How long replies are waited for at the end: what the job says, or as `auto` means it."""
    if job.get("drain", "auto") != "auto":
        return _seconds(job, "drain", "auto")
    is_set = job.get("timeout", "auto") != "auto"
    return max(2.0, _seconds(job, "timeout", "auto")) if is_set else 2.0


def _seconds(job: Mapping[str, Any], key: str, default: str) -> float:
    return units.parse_ns(str(job.get(key, default))) / units.NS_PER_S


def _is_number(text: object) -> bool:
    return re.fullmatch(r"[0-9.]+([eE][+-]?[0-9]+)?", str(text)) is not None
