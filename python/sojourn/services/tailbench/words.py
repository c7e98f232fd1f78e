"""What search, speech and translation have in common: programs that `sojourn install` has made.

They have the shape of `queries`, and a library of others does the work. Inputs lie in the service's
folder; the right answers stay with the lab, which holds replies against them.
"""

from __future__ import annotations

import functools
import shutil
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sojourn import late
from sojourn.install import MANIFEST, Made, Part, answers
from sojourn.places.ports import Address
from sojourn.services.capabilities import Prepares, Rows, reply_s
from sojourn.services.clients import http_get
from sojourn.services.kind import Allowance, Endpoint
from sojourn.services.params import Value, settle
from sojourn.services.tailbench.queries import (
    PARAMS,
    REPLY_MAX,
    REPORT,
    Queries,
    numbers,
    threads_of,
)

if TYPE_CHECKING:
    import numpy as np
else:
    np = late.module("numpy")

READY = "/ready"
HEAD = "query {:>10} "
NOT_PASSED = {answers.ANSWERS, MANIFEST}

__all__ = ["PARAMS", "REPORT", "Words", "settled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Words(Queries, Prepares):
    """One service that was made here, its parameters settled.

    Attributes:
        part: what made it.
        made: what that has kept, whole as it was.
    """

    #: Length of an answer: each is filled up to it.
    WIDTH: ClassVar[int]

    part: Part
    made: Made

    @property
    @abstractmethod
    def paper(self) -> tuple[str, str]:
        """What the paper has of the original (P8), as (name, text) for people."""

    def setup(self) -> Rows:
        """Version, inputs and workers as (name, text), for people."""
        facts = tuple(self.made.facts.items())
        asked = f"{self.queries} queries for {len(self.known)} inputs, seed {self.seed}"
        return (("version", self.version()), *facts, ("asked", asked), self.paper, *self.why)

    @property
    def known(self) -> tuple[str, ...]:
        """The right answer to each input, in their order."""
        return _known(self.made.at / answers.ANSWERS)

    @property
    def work(self) -> tuple[str, ...]:
        """Nothing to choose: each has a program of its own."""
        return ()

    @property
    def reply_bytes(self) -> int:
        """Length of an answer with its head and its end."""
        return len(HEAD.format(0)) + self.WIDTH + 1

    @property
    def against(self) -> str:
        """What answers are held against, for people."""
        return f"as they were when {self.part.command} made it"

    @property
    def fix(self) -> str:
        """What to do where an answer is wrong."""
        return f"{self.part.command} --again makes it anew"

    def is_answer(self, query: int, text: str) -> bool:
        """Whether it is the answer to the input that the query asks for."""
        nth = int(numbers(self.seed, np.array([query], np.uint64))[0]) % len(self.known)
        # Bytes, since the server fills up by bytes; what is no UTF-8 is no answer.
        wanted = HEAD.format(query).encode() + self.known[nth].encode().ljust(self.WIDTH) + b"\n"
        return text.encode() == wanted

    def prepare(self, work: Path) -> None:
        """Give it what it serves, and not the answers."""
        for path in sorted(self.made.at.iterdir()):
            if path.is_dir():
                shutil.copytree(path, work / path.name, copy_function=_copied)
            elif path.name not in NOT_PASSED:
                _copied(path, work / path.name)

    def words(self, work: Path, address: Address) -> tuple[str, ...]:
        """Flags: where its data lie, how many workers, where it listens."""
        return ("--data", str(work), *Queries.words(self, work, address))

    def endpoint(self, address: Address) -> Endpoint:
        """Which queries there are, how long an answer is and may take, after the last one too."""
        usual, slow_s = Queries.endpoint(self, address), reply_s(self)
        within = f"{slow_s:g}s"
        late = {"timeout": within, "drain": within} if slow_s else {}
        return replace(usual, job={**usual.job, **late})

    def ready(self, address: Address, within_s: float) -> bool:
        """Whether it is there with all its workers; no query waits in the line for that."""
        reply = http_get.text(address, READY, within_s, REPLY_MAX)
        return reply == (HTTPStatus.OK, f"{self.threads} workers\n")


def settled(
    name: str, part: Part, inputs: Mapping[str, Value], allowance: Allowance
) -> dict[str, Any]:
    """The fields that all of them have.

    Raises:
        SpecFault: an unknown parameter, or a value out of range.
        HostFault: it was not made here, or has changed since.
    """
    got = settle(name, PARAMS, inputs, cpus=allowance.cpus)
    threads, why = threads_of(got["threads"], allowance)
    made = part.ready()
    return {
        "part": part,
        "made": made,
        "path": made.at / f"sojourn-{part.name}",
        "threads": threads,
        "queries": int(got["queries"] or 1),
        "seed": int(got["seed"] or 0),
        "port": int(got["port"] or 0),
        "why": why,
    }


@functools.lru_cache(maxsize=4)
def _known(path: Path) -> tuple[str, ...]:
    return answers.read(path)


def _copied(whence: str | Path, to: str | Path) -> Path:
    """A copy that the server's user may read, and start if it is a program."""
    copy = Path(shutil.copyfile(whence, to))
    copy.chmod(0o755 if Path(whence).stat().st_mode & 0o100 else 0o644)
    return copy
