"""Translation: what TailBench's moses does (P4), by Apertium from English to Spanish.

A worker is a thread and the stages of its own pipeline, each a process: they are pinned and counted
together, since a request is in one of them at a time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from sojourn.install import moses
from sojourn.places.task import Task
from sojourn.services.capabilities import HasCrews, Needs
from sojourn.services.kind import Allowance, Service, ServiceKind
from sojourn.services.params import Value
from sojourn.services.tailbench.queries import WORKER
from sojourn.services.tailbench.words import PARAMS, Words, settled

NAME = moses.NAME
STAGE = re.compile(rf"{WORKER}(\d+)/")
WORKER_BYTES = 256 << 20  # of a pipeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Moses(Words, HasCrews):
    """One translation service whose parameters are settled."""

    WIDTH: ClassVar[int] = 400

    @property
    def paper(self) -> tuple[str, str]:
        """Five times the service time are 7.1 ms there."""
        return ("paper", "TailBench's moses takes about 1.4 ms (P8: LQoS 7.1 ms over five)")

    def needs(self) -> Needs:
        """A pipeline for each worker."""
        memory_bytes = self.threads * WORKER_BYTES + (64 << 20)
        return replace(Words.needs(self), memory_bytes=memory_bytes)

    def crew(self, tasks: Sequence[Task]) -> Mapping[int, tuple[int, ...]]:
        """The stages of each worker, by how their command lines begin."""
        stages: dict[int, list[int]] = {}
        for task in tasks:
            if match := STAGE.match(task.command):
                stages.setdefault(int(match.group(1)), []).append(task.tid)
        workers = dict(enumerate(self.pinned(tasks)))
        return {workers[nth]: tuple(tids) for nth, tids in stages.items() if nth in workers}


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    return Moses(**settled(NAME, moses.PART, inputs, allowance))


KIND = ServiceKind(
    name=NAME,
    about="translation, English to Spanish: what TailBench's moses does, by Apertium's rules",
    params=PARAMS,
    needs=(moses.PART.command,),
    source="PAPERS P4, P8",
    build=build,
)
