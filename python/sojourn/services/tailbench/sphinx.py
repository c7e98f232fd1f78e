"""Speech: TailBench's sphinx (P4), of recordings that were spoken when it was made.

A reply carries the words that were heard. It is the slowest of all: about a second a query.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from sojourn.install import sphinx
from sojourn.places.ports import Address
from sojourn.services.capabilities import Filling, Needs, Slow
from sojourn.services.kind import Allowance, Service, ServiceKind, Start
from sojourn.services.params import Value
from sojourn.services.tailbench.words import PARAMS, Words, settled

NAME = sphinx.NAME
WORKER_BYTES = 160 << 20  # a decoder with its model
LOAD_S = 30.0  # of a decoder, on a machine that is very busy
REPLY_S = 120.0
END_S = 30.0  # for what is being decoded, by workers that take turns; then it reports
WARM = 2  # requests a worker: each goes through the whole model


@dataclass(frozen=True, slots=True, kw_only=True)
class Sphinx(Words, Slow):
    """One speech service whose parameters are settled."""

    WIDTH: ClassVar[int] = 200

    @property
    def paper(self) -> tuple[str, str]:
        """Five times the service time are 4275 ms there."""
        return ("paper", "TailBench's sphinx takes about 0.86 s (P8: LQoS 4275 ms over five)")

    def needs(self) -> Needs:
        """A decoder for each worker."""
        memory_bytes = self.threads * WORKER_BYTES + (64 << 20)
        return replace(Words.needs(self), memory_bytes=memory_bytes)

    def start(self, work: Path, address: Address) -> Start:
        """As all of them; each worker's decoder reads the model first, and ends what it began."""
        usual = Words.start(self, work, address)
        return replace(usual, ready_s=LOAD_S * (self.threads + 1), stop_s=END_S)

    def reply_s(self) -> float:
        """A line of many recordings is long."""
        return REPLY_S

    def filling(self) -> Filling:
        """So many requests that every worker has touched what it needs."""
        return Filling(requests=WARM * self.threads)


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    return Sphinx(**settled(NAME, sphinx.PART, inputs, allowance))


KIND = ServiceKind(
    name=NAME,
    about="speech to words: TailBench's sphinx, pocketsphinx, about a second a query",
    params=PARAMS,
    needs=(sphinx.PART.command,),
    source="PAPERS P4, P8",
    build=build,
)
