"""Runs `sojourn-sim`: a job in, a result out, several at once.

A result depends on its job alone, so running them side by side changes nothing but the time.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from sojourn import programs
from sojourn.errors import Exit, RunFault, SpecFault

Command = Literal["queue", "sched", "fleet", "calls"]
Job = Mapping[str, Any]
Result = Mapping[str, Any]

RUN_S_MAX = 1800.0
_ANSWERS = (Exit.OK, Exit.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Simulator:
    """Where the program is, and how many run at once.

    Attributes:
        program: path of `sojourn-sim`.
        parallel: jobs at once.
        on_done: called with (jobs done, jobs asked for) as `runs` gets on; from any thread.
    """

    program: str
    parallel: int
    on_done: Callable[[int, int], None] | None = None

    @classmethod
    def find(
        cls, *, jobs: int | None = None, on_done: Callable[[int, int], None] | None = None
    ) -> Simulator:
        """Find the program; HostFault if it is not installed.

        Args:
            jobs: simulations at once; by default as many as there are CPUs for this process.
            on_done: see the class.
        """
        result = str(programs.find("sojourn-sim"))
        return cls(result, jobs or len(os.sched_getaffinity(0)), on_done)

    def run(self, command: Command, job: Job, *options: str) -> Result:
        """Run one job.

        Raises:
            SpecFault: the job is wrong; the message is the program's own.
            RunFault: the program failed or did not end.
        """
        arguments = [self.program, command, "--job", "-", "--json", "-", *options]
        try:
            done = subprocess.run(
                arguments,
                input=json.dumps(job),
                capture_output=True,
                text=True,
                timeout=RUN_S_MAX,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            what, fix = f"the simulation did not end: {error}", "ask for fewer requests"
            raise RunFault(what, at=self.program, fix=fix) from None
        except OSError as error:
            what = f"the simulator cannot be started: {error.strerror or error}"
            raise RunFault(what, at=self.program, fix="install sojourn again") from None
        if done.returncode in _ANSWERS and done.stdout:
            return dict(json.loads(done.stdout))
        raise _fault(done.stderr, self.program, done.returncode)

    def runs(self, command: Command, jobs: Sequence[Job]) -> list[Result]:
        """Run all jobs; results in their order."""
        done = itertools.count(1)

        def one(job: Job) -> Result:
            result = self.run(command, job)
            if self.on_done is not None:
                self.on_done(next(done), len(jobs))
            return result

        with ThreadPoolExecutor(max_workers=max(1, self.parallel)) as pool:
            return list(pool.map(one, jobs))


def _fault(text: str, program: str, code: int) -> SpecFault | RunFault:
    """The program's own three lines, as a fault of ours."""
    parts = {"error": "", "at": "", "fix": ""}
    for line in text.splitlines():
        key, _, rest = line.strip().partition(": ")
        if key in parts and not parts[key]:
            parts[key] = rest
    kind = SpecFault if code == Exit.USAGE else RunFault
    what = parts["error"] or f"{program} ended with {code}: {text.strip()[:200]}"
    return kind(what, at=parts["at"] or program, fix=parts["fix"] or "see sojourn-sim --describe")
