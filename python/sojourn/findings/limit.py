"""What limits a service other than its CPUs: refusals, waits, or connections."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class By(StrEnum):
    """Who sets the highest rate of a service."""

    REFUSALS = "refusals"  # requests are answered at once that no more are taken
    BREAKS = "breaks"  # the server ends connections before their replies are complete
    WAITS = "waits"  # they wait, although the service's CPUs are idle
    CONNECTIONS = "connections"  # all that the client has are in use, and no request waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Who sets the highest rate, and what the service's CPUs did meanwhile.

    Attributes:
        by: who sets it.
        statuses: with which requests were refused, the most frequent first; () of the others.
        from_rps: the lowest offered load at which more than 1 % of the requests are refused; where
            only the closed loop was refused, its rate; of the others the highest rate. requests/s.
        below_rps: the highest load below it at which that was not so; None: none was offered.
        share: of the requests at `from_rps`, how many were refused; 0 to 1.
        used_cpus: CPU time of the service in each second there, s; None: not seen.
        waits_cpus: threads of it that were ready there and had no CPU, on average; None: not seen.
        is_idle: its CPUs had time to spare there; None: not seen, or others had them.
        text: all of it as a reason, `limit: from 510 requests/s on …`.
    """

    by: By
    statuses: tuple[str, ...] = ()
    from_rps: float
    below_rps: float | None = None
    share: float = 0.0
    used_cpus: float | None = None
    waits_cpus: float | None = None
    is_idle: bool | None = None
    text: str = ""
