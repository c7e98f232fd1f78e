"""The study that measures one service beside doses, and beside neighbours.

One start for each neighbour, a few short runs at rising load, in random order. Loads at which the
queue grows are evidence too, so none is measured again.
"""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.errors import SpecFault
from sojourn.services import KINDS
from sojourn.text.near import near

DOSES = (
    *("noise:cpu@25%", "noise:cpu@50%", "noise:cpu@100%"),
    *("noise:llc@50%", "noise:llc@100%"),
    *("noise:membw@50%", "noise:membw@100%"),
    "noise:syscalls@50%",
    *("noise:network@50%", "noise:network@100%"),
    *("noise:disk@50%", "noise:disk@100%"),
)
FRACTIONS = (0.15, 0.3, 0.4, 0.5, 0.65, 0.85)
POINT_S = 3.5  # of one short run with its start, and with the queue that a full CPU leaves
ROUND_S = 10.0
ONE_THREAD = {"memcached": "threads = 1", "nginx": "workers = 1"}
CONNECTIONS = 16


def text(kind: str, neighbours: Sequence[str] = (), *, repeats: int = 1) -> str:
    """The study of a kind of service, in TOML.

    Args:
        kind: of the service, as in `sojourn kinds services`.
        neighbours: levels beside the doses, such as "batch:xz,where=server".
        repeats: rounds, each from fresh starts.

    Raises:
        SpecFault: there is no such kind.
    """
    check_kind(kind)
    levels = ["none", *(f"{dose},where=server" for dose in DOSES), *neighbours]
    rows = "\n".join(f'  "{level}",' for level in dict.fromkeys(levels))
    params = f"\n[services.params]\n{ONE_THREAD[kind]}\n" if kind in ONE_THREAD else ""
    return f"""\
# What do doses of each resource, and neighbours, do to {kind}? `sojourn predict` reads its record.
name = "foresight_{kind}"
question = "What do doses of each resource, and neighbours, do to the tail of {kind}, load by load?"
seed = 20110611
aa = false

[run]
profile = "standard"
shield = "none" # the machine's scheduling is what is asked about
fractions = {list(FRACTIONS)}
repeats = {repeats}
retries = 0 # a queue that grows is an answer
measure_s = 1.0
warmup_s = 0.2
peak_s = 1.0

[factors]
neighbour = [
{rows}
]

[[services]]
kind = "{kind}"
measure = ["sweep"]
max_rps = "achieved_peak"
{params}
[services.load]
connections = {CONNECTIONS}
arrivals = "poisson"
popularity = "uniform"
"""


def minutes(neighbours: int, *, repeats: int = 1) -> float:
    """How long the study takes, about."""
    levels = 1 + len(DOSES) + neighbours
    return repeats * (levels * len(FRACTIONS) * POINT_S + ROUND_S) / 60


def check_kind(kind: str) -> None:
    """Refuse a kind of service that there is not.

    Raises:
        SpecFault: it names what was meant, if something is near.
    """
    if kind in KINDS:
        return
    meant = near(kind, KINDS)
    hint = f"did you mean {meant[0]}? " if meant else ""
    raise SpecFault(
        f"there is no service '{kind}'", at="--service", fix=f"{hint}known: {', '.join(KINDS)}"
    )
