"""How the papers' sizes are fitted to a machine and a profile, and the sentence that says so."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.errors import HostFault
from sojourn.services.kind import Allowance
from sojourn.services.params import Value

SMALLEST = 1_000  # fewer items would all lie in the first-level caches of most machines
CONNECTIONS_MAX = 8192
FILES_SPARE = 128  # logs, listening sockets, event queues


def connections_max(value: Value | None, allowance: Allowance) -> int:
    """How many connections a server process takes.

    Raises:
        HostFault: more are asked for than it may have files open.
    """
    if value is None:
        return max(16, min(CONNECTIONS_MAX, allowance.open_files // 2))
    if int(value) + FILES_SPARE > allowance.open_files:
        raise HostFault(
            f"{value} connections need as many open files, {allowance.open_files} are allowed",
            at=f"service parameter connections_max = {value}",
            fix=f"give at most {allowance.open_files - FILES_SPARE}, or raise `ulimit -Hn`",
        )
    return int(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """A settled size and why it is that much."""

    value: int
    text: tuple[tuple[str, str], ...]


def scaled(
    name: str,
    inputs: Value | None,
    paper: int,
    allowance: Allowance,
    *,
    fits: int | None = None,
    limit: str = "",
    cpus: int | None = None,
) -> Scaled:
    """Settle one size: as given, else the paper's, cut to the profile and to what there is.

    Args:
        name: of the parameter.
        inputs: by the study; it is taken as it is.
        paper: the paper's value (C4).
        allowance: what the machine has.
        fits: how many the machine can hold; then the profile's share applies.
        limit: what runs out beyond `fits`.
        cpus: CPUs of the server; then the size is a number of threads (L23: at most one a CPU).
    """
    if inputs is not None:
        value = int(inputs)
        note = f"{_number(value)}, as the study says (C4: {_number(paper)})"
        if cpus is not None and value > cpus:
            note += f"; {value} on {cpus} CPU{'s' if cpus > 1 else ''}: they take turns (L23)"
        return Scaled(value=value, text=((name, note),))
    if cpus is not None:
        value = min(paper, cpus)
        short = f"{value} of C4's {paper}: one per server CPU (L23)"
        return Scaled(value=value, text=((name, f"{value} (C4)" if value == paper else short),))
    return _share(name, paper, allowance, fits, limit)


def _share(name: str, paper: int, allowance: Allowance, fits: int | None, limit: str) -> Scaled:
    share = max(SMALLEST, round(paper * allowance.scale))
    value = share if fits is None else min(share, fits)
    if value < 1:
        raise HostFault(
            f"there is no {limit} for a single one of {name}",
            at=f"service default {name} = {paper}",
            fix=f"free some {limit}, or give {name} in the study",
        )
    if value == paper:
        why = "C4"
    elif value == share:
        why = f"{_ratio(paper, value)} of C4's {_number(paper)}: profile {allowance.profile}"
    else:
        why = f"{_ratio(paper, value)} of C4's {_number(paper)}: all that {limit} allows"
    return Scaled(value=value, text=((name, f"{_number(value)} ({why})"),))


def _ratio(paper: int, value: int) -> str:
    return f"1/{paper / value:.3g}"


def _number(value: int) -> str:
    return f"{value:,}".replace(",", " ")
