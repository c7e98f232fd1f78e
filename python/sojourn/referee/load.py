"""What a load tool was asked to do, as its command line says it."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.importers.series import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The load that was asked for.

    Attributes:
        tool: its name; "" for one that is not known.
        rate_rps: at which users come; None: not known, or the tool has none.
        is_users: the rate is one that the user gives, and not the command line's.
        arrivals: "paced", "poisson", or "" (not known).
        facts: what the tool measures and from when; None for one that is not known.
        notes: what a reader must know, in sentences.
        pipelined: requests that a connection sends before it waits for a reply; 1: as usual.
        handshakes: replies that a new connection gets before its first request, as of TLS.
    """

    tool: str = ""
    rate_rps: float | None = None
    is_users: bool = False
    arrivals: str = ""
    facts: Facts | None = None
    notes: tuple[str, ...] = ()
    pipelined: int = 1
    handshakes: int = 0
