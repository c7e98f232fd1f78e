"""The papers' figures and tables by name: our curve, the paper's numbers, the verdict.

One file per experiment; `KINDS` is the table. `catalogue` says of every id of the three papers
whether it is measured, simulated, computed, or not yet. A parameter is taken from the paper's text
wherever it states one; what it does not state is an assumption, named in the result, and is varied
there. Nothing is fitted to the curve that it is meant to explain.
"""

from __future__ import annotations

from sojourn.errors import SpecFault
from sojourn.models.replicate import (
    c11,
    c26,
    l5,
    l12,
    l14,
    l15,
    l18,
    l19,
    l25,
    l32,
    l34,
    p8,
)
from sojourn.models.replicate.catalogue import CATALOGUE
from sojourn.models.replicate.kind import Experiment
from sojourn.spec.faults import near

KINDS: tuple[Experiment, ...] = (
    l5.EXPERIMENT,
    l12.EXPERIMENT,
    l14.EXPERIMENT,
    l15.EXPERIMENT,
    l18.EXPERIMENT,
    l19.EXPERIMENT,
    l25.EXPERIMENT,
    l32.EXPERIMENT,
    l34.EXPERIMENT,
    c11.EXPERIMENT,
    c26.EXPERIMENT,
    p8.EXPERIMENT,
)


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
    entry = next((entry for entry in CATALOGUE if entry.id == wanted), None)
    if entry is not None:
        raise SpecFault(
            f"{entry.id} ({entry.about}) cannot be replicated by a model: {entry.state}",
            at=f"sojourn replicate {name}",
            fix=entry.how or f"simulated or computed are: {', '.join(known)}",
        )
    meant = near(wanted, [*known, *(entry.id for entry in CATALOGUE)])
    hint = f"did you mean {' or '.join(meant)}? " if meant else ""
    raise SpecFault(
        f"no experiment of the papers is called '{name}'",
        at=f"sojourn replicate {name}",
        fix=f"{hint}see `sojourn replicate --list`",
    )
