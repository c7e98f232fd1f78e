"""Search: TailBench's xapian (P4), over an index of this machine's own texts.

A query has three terms; the reply names the ten best passages with their weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from sojourn.install import xapian
from sojourn.services.capabilities import Needs
from sojourn.services.kind import Allowance, Service, ServiceKind
from sojourn.services.params import Value
from sojourn.services.tailbench.words import PARAMS, Words, settled

NAME = xapian.NAME
WORKER_BYTES = 8 << 20
SPARE_BYTES = 128 << 20  # for the index in the page cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Xapian(Words):
    """One search service whose parameters are settled."""

    WIDTH: ClassVar[int] = 1000

    @property
    def paper(self) -> tuple[str, str]:
        """Five times the service time are 6.2 ms there."""
        return ("paper", "TailBench's xapian takes about 1.2 ms (P8: LQoS 6.2 ms over five)")

    def needs(self) -> Needs:
        """A little for each worker, and the index."""
        memory_bytes = self.threads * WORKER_BYTES + SPARE_BYTES
        return replace(Words.needs(self), memory_bytes=memory_bytes)


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    return Xapian(**settled(NAME, xapian.PART, inputs, allowance))


KIND = ServiceKind(
    name=NAME,
    about="search in texts of this machine: TailBench's xapian, three terms, ten best passages",
    params=PARAMS,
    needs=(xapian.PART.command,),
    source="PAPERS P4, P8",
    build=build,
)
