"""What processes of the lab's own came to under a scheduler setting: `properties.json`.

Written by `probe`. Shares are of one CPU, by window.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from sojourn.findings.measured import Measured
from sojourn.plan.points import Outcome
from sojourn.samples.contract import Table, table_of

FILE, FORM, MAJOR = "properties.json", "sojourn.properties", 1


class Shares(Table):
    """Two that want all of one CPU; `refused`: why there is nothing."""

    got: list[list[float]] = Field(default_factory=list)
    asked: list[float | None] = Field(default_factory=list)
    others: float | None = None
    steal: float | None = None
    refused: str = ""


class Asleep(Table):
    """One that wants all of a CPU while the other sleeps."""

    got: list[float] = Field(default_factory=list)
    others: float | None = None
    steal: float | None = None
    refused: str = ""


class Waking(Table):
    """How late one ran after its timer, ns, under one value of the parameter."""

    level: str
    late_ns: list[int]


class Wake(Table):
    """The same under each value; `is_coupled`: the parameter changes its share as well."""

    runs: list[Waking] = Field(default_factory=list)
    hog: str = ""
    is_coupled: bool = False
    refused: str = ""


class Properties(Table):
    """What was seen at one point."""

    labels: tuple[str, str]
    levels: dict[str, dict[str, str]]
    cpu: int
    window_s: float
    share: Shares
    sleeps: Asleep
    wake: Wake


def read(folder: Path, outcome: Outcome) -> Properties | None:
    """What was seen at a point; None if no one looked.

    Raises:
        StoreFault: the file is damaged, or of a newer version.
    """
    del outcome
    if not (folder / FILE).exists():
        return None
    return table_of(Properties, folder / FILE, FORM, MAJOR, what="file of scheduler properties")


def of(measured: Measured) -> Properties | None:
    """Of a point as it was read: what was seen at it; None if nothing was."""
    return measured.own if isinstance(measured.own, Properties) else None
