"""How much of its work a neighbour did while load ran, of what it does alone (L27, M22)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.samples.names import HOST, SERVICE
from sojourn.samples.reading import neighbour
from sojourn.samples.versioned import read_json

FLAT_OUT = 0.999  # of its pace alone: asked for so much, it takes what it can get


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """One run's neighbour, by `host.json`.

    Attributes:
        called: what it is to people: "xz"; else its kind.
        unit: of its progress.
        per_s: mean progress while load ran, units/s.
        error_per_s: its standard error over the seconds of the run; None: not known.
        alone_per_s: its progress alone and flat out, measured when it entered.
        alone_error_per_s: standard error of that; None: not known.
        asked_per_s: what it was asked for; None: it takes what it can get.
        seconds: of the load that tell.
        core_share: share that the server had of the CPUs of both; 1: they shared one.
    """

    called: str
    unit: str
    per_s: float
    error_per_s: float | None
    alone_per_s: float
    alone_error_per_s: float | None
    asked_per_s: float | None
    seconds: int
    core_share: float = 1.0

    @property
    def kept(self) -> float:
        """Share that it retained of its pace alone, at what it was asked for."""
        asked = self.asked_per_s or self.alone_per_s
        return self.per_s / min(asked, self.alone_per_s)

    @property
    def error(self) -> float | None:
        """Standard error of the logarithm of that share; None where seconds do not tell it.

        A share of the pace alone is as sure as that pace; a rate that was given is known.
        """
        if self.error_per_s is None or not self.per_s:
            return None
        alone = (self.alone_error_per_s or 0.0) / self.alone_per_s
        return math.hypot(self.error_per_s / self.per_s, alone)


def read(folder: Path) -> Pace | None:
    """What is in a point's folder; None where no one reported progress and of a pace alone."""
    result = neighbour(folder / HOST)
    did: Mapping[str, Any] = result.get("progress") or {}
    if did.get("per_s") is None or not did.get("alone_per_s"):
        return None
    asked, alone = _number(did.get("asked_per_s")), float(did["alone_per_s"])
    is_flat_out = did.get("is_flat_out", asked is None or asked >= FLAT_OUT * alone)
    return Pace(
        called=str(result.get("called") or result.get("kind") or "neighbour"),
        unit=str(did.get("unit", "")),
        per_s=float(did["per_s"]),
        error_per_s=_number(did.get("error_per_s")),
        alone_per_s=alone,
        alone_error_per_s=_number(did.get("alone_error_per_s")),
        asked_per_s=None if is_flat_out else asked,
        seconds=int(did.get("seconds", 0)),
        core_share=_core_share(result, folder / SERVICE),
    )


def _core_share(results: Mapping[str, Any], path: Path) -> float:
    """By the CPUs on which the neighbour's tasks were, and those of the server."""
    placement = (read_json(path).get("placement") if path.exists() else None) or {}
    server = {int(cpu) for cpu in placement.get("server", ())}
    own = {int(cpu) for cpu in results.get("cpu_s", {})}
    if not server or not own or server & own:
        return 1.0
    return len(server) / (len(server) + len(own))


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
