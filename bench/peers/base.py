"""What one load generator must say of itself to be compared."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to compare: a protocol, a number of connections, and how load is offered.

    Attributes:
        rate_rps: offered load, requests/s; None: as fast as it goes.
        wait: "spin", "sleep" or "auto" (its default); tools that cannot do it do not take part.
    """

    protocol: str
    connections: int
    rate_rps: int | None
    wait: str

    @property
    def name(self) -> str:
        load = "peak" if self.rate_rps is None else f"{self.rate_rps // 1000}k"
        return f"{self.protocol}/{load}/{self.connections}c/{self.wait}"


@dataclass(frozen=True, slots=True)
class Reading:
    """What a tool reports of one run; None where it reports nothing.

    `verdict` is what it says of its own numbers, ours with the first reason; most say nothing.
    """

    rps: float
    p50_us: float | None
    p99_us: float | None
    verdict: str = ""


class Peer:
    """One tool: when it takes part, how it is called, what its output means."""

    name: str
    program: str
    measures_latency = True

    def takes(self, case: Case) -> bool:
        raise NotImplementedError

    def command(self, case: Case, port: int, seconds: int, scratch: Path) -> list[str]:
        raise NotImplementedError

    def preload(self, case: Case, port: int, scratch: Path) -> list[str] | None:
        """What sets the keys that this tool will ask for, so that every GET is a hit."""
        return None

    def read(self, stdout: str, scratch: Path) -> Reading:
        raise NotImplementedError

    def is_here(self) -> bool:
        return shutil.which(self.program) is not None


def number(pattern: str, text: str) -> float:
    """The last number that `pattern`'s first group matches in `text`."""
    matches = re.findall(pattern, text, re.MULTILINE)
    if not matches:
        raise ValueError(f"no match of {pattern!r} in: {text[-400:]}")
    return float(matches[-1])


TIME_US = {"us": 1.0, "ms": 1e3, "s": 1e6, "ns": 1e-3, "µs": 1.0}


def time_us(pattern: str, text: str) -> float:
    """The last time with a unit that `pattern`'s two groups match, µs."""
    value, unit = re.findall(pattern, text, re.MULTILINE)[-1]
    return float(value) * TIME_US[unit]
