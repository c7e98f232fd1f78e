"""Keys of `run` that say how often each mechanism is applied (C19)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sojourn.spec import RunSpec, Study
from sojourn.spec.form import Asks


class OfRun(RunSpec):
    """What `run` has of it."""

    applications: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """How often "isolation_cost" applies each mechanism, idle, beside load and busy (C19)."""
    restarts: Annotated[int, Field(ge=1, le=10_000)] = 100
    """How often "isolation_cost" ends and starts a container or VM anew."""


def of(study: Study) -> OfRun:
    """How often a study applies each mechanism.

    Raises:
        TypeError: the study was read without this question.
    """
    if not isinstance(study.run, OfRun):
        raise TypeError("the study has no keys of isolation_cost")
    return study.run


ASKS = Asks(run=OfRun, profiles={"quick": {"applications": 200, "restarts": 3}}, in_shares=True)
