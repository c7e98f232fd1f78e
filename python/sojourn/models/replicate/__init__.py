"""The papers' figures and tables by name: our curve, the paper's numbers, the verdict.

One file per experiment; `KINDS` is the table. `ids` says of every id of the three papers whether it
is measured, simulated, computed, or not yet. A parameter is taken from the paper's text
wherever it states one; what it does not state is an assumption, named in the result, and is varied
there. Nothing is fitted to the curve that it is meant to explain.
"""

from __future__ import annotations

from functools import cache

from sojourn import spec
from sojourn.errors import SpecFault
from sojourn.models.replicate.c11 import EXPERIMENT as C11
from sojourn.models.replicate.c20 import EXPERIMENT as C20
from sojourn.models.replicate.c22 import EXPERIMENT as C22
from sojourn.models.replicate.c26 import EXPERIMENT as C26
from sojourn.models.replicate.catalogue import Entry, entries
from sojourn.models.replicate.kind import Experiment
from sojourn.models.replicate.l5 import EXPERIMENT as L5
from sojourn.models.replicate.l7 import EXPERIMENT as L7
from sojourn.models.replicate.l12 import EXPERIMENT as L12
from sojourn.models.replicate.l14 import EXPERIMENT as L14
from sojourn.models.replicate.l15 import EXPERIMENT as L15
from sojourn.models.replicate.l17 import EXPERIMENT as L17
from sojourn.models.replicate.l18 import EXPERIMENT as L18
from sojourn.models.replicate.l19 import EXPERIMENT as L19
from sojourn.models.replicate.l21 import EXPERIMENT as L21
from sojourn.models.replicate.l25 import EXPERIMENT as L25
from sojourn.models.replicate.l29 import EXPERIMENT as L29
from sojourn.models.replicate.l32 import EXPERIMENT as L32
from sojourn.models.replicate.l34 import EXPERIMENT as L34
from sojourn.models.replicate.p8 import EXPERIMENT as P8
from sojourn.models.replicate.p10 import EXPERIMENT as P10
from sojourn.text.near import near

__all__ = ["KINDS", "Entry", "find", "ids"]

KINDS: tuple[Experiment, ...] = (
    L5,
    L7,
    L12,
    L14,
    L15,
    L17,
    L18,
    L19,
    L21,
    L25,
    L29,
    L32,
    L34,
    C11,
    C20,
    C22,
    C26,
    P8,
    P10,
)


@cache
def ids() -> tuple[Entry, ...]:
    """Every id of the papers with its state, from the built-in studies and from `KINDS`."""
    return entries(KINDS, spec.of_papers())


_WHY_NOT = {
    "measured": "is measured, not replicated by a model",
    "not yet": "is not yet replicated",
    "background": "has nothing to replicate",
    "simulated": "is simulated by another command",
    "computed": "is computed by another command",
}


def find(name: str) -> Experiment:
    """Return the experiment called `name`.

    Raises:
        SpecFault: there is none; near names are offered, or the reason why not yet.
    """
    wanted = name.strip().upper()
    for experiment in KINDS:
        if wanted in experiment.ids:
            return experiment
    known = [name for experiment in KINDS for name in experiment.ids]
    entry = next((entry for entry in ids() if entry.id == wanted), None)
    if entry is not None:
        raise SpecFault(
            f"{entry.id} ({entry.about}) {_WHY_NOT[entry.state]}",
            at=f"sojourn replicate {name}",
            fix=entry.how or f"choose one of {', '.join(known)}",
        )
    meant = near(wanted, dict.fromkeys(entry.id for entry in ids()))
    hint = f"did you mean {' or '.join(meant)}? " if meant else ""
    raise SpecFault(
        f"no experiment of the papers is called '{name}'",
        at=f"sojourn replicate {name}",
        fix=f"{hint}see `sojourn replicate --list`",
    )
