"""Rows of a league as a foreign file, which `sojourn tco --league` reads.

Other keys may stand beside those that are read.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sojourn import disk
from sojourn.controllers.look import mistake
from sojourn.errors import SpecFault
from sojourn.models.tco import Costs, discount, matched_servers, used_gain

SCHEMA: Literal["sojourn.league/1"] = "sojourn.league/1"
Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
FIX = "give a file that bench/managers/week.py has written"


class LeagueRow(BaseModel):
    """What of a `play.Row` its worth is computed from."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, allow_inf_nan=False)

    controller: Name
    scenario: Name
    seed: int
    violated_s: Annotated[int, Field(ge=0)]
    batch: Share = Field(alias="kept")
    alone: Share
    busy: Share


class League(BaseModel):
    """All rows of one file."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    form: Literal["sojourn.league/1"] = Field(alias="schema")
    rows: tuple[LeagueRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _once(self) -> Self:
        keys = [(row.scenario, row.controller, row.seed) for row in self.rows]
        if len({*keys}) < len(keys):
            raise ValueError("a run is in it twice: rows of a file were joined with themselves")
        return self

    def worth(self, costs: Costs, servers: int) -> list[dict[str, Any]]:
        """What the batch work is worth that each controller keeps; medians over seeds."""
        each: dict[tuple[str, str], list[LeagueRow]] = defaultdict(list)
        for row in self.rows:
            each[row.scenario, row.controller].append(row)
        return [self._worth(own, costs, servers) for own in each.values()]

    @staticmethod
    def _worth(own: Sequence[LeagueRow], costs: Costs, servers: int) -> dict[str, Any]:
        """Of the rows of one controller in one scenario."""
        gains = sorted(used_gain(costs, row.busy, row.batch) for row in own)
        share = statistics.median(row.batch for row in own)
        alone = statistics.median(row.alone for row in own)
        middle = statistics.median(gains)
        return {
            "scenario": own[0].scenario,
            "controller": own[0].controller,
            "runs": len(own),
            "violated_s": statistics.median(row.violated_s for row in own),
            "batch": share,
            "of_alone": share / alone if alone else None,
            "busy": statistics.median(row.busy for row in own),
            "gain": middle,
            "gain_least": gains[0],
            "gain_most": gains[-1],
            "matched_servers": matched_servers(servers, share),
            "discount": discount(middle),
        }


def load(path: Path) -> League:
    """The rows of a file; SpecFault where it is none."""
    try:
        return League.model_validate_json(disk.read_named(path).decode())
    except ValidationError as error:
        raise SpecFault(f"this is no league: {mistake(error)}", at=str(path), fix=FIX) from None
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        raise SpecFault(f"the league cannot be read: {why}", at=str(path), fix=FIX) from None
