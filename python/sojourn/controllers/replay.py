"""Recorded looks → decisions: the same input gives the same bytes.

A file has one look a line, as `sojourn manage` records them. What the controller decides is
printed, not applied: the allocation of the next look is the one that was recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from pydantic import ValidationError

from sojourn.controllers.look import LOOKS_MAX, Decision, History, Look, mistake
from sojourn.controllers.rule import Rule
from sojourn.errors import SpecFault

LINE_BYTES = 1 << 20  # of one look; one of ten groups has some 4 kB


def looks(lines: Iterable[bytes], name: str) -> Iterator[Look]:
    """The looks of a file, which somebody else may have made.

    Raises:
        SpecFault: a line is no look; it names the line and the key.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield look(line, f"{name}, line {number}")


def look(line: bytes, at: str) -> Look:
    """One look; SpecFault if the line is none."""
    try:
        if len(line) > LINE_BYTES:
            raise ValueError(f"it has more than {LINE_BYTES} bytes")  # noqa: TRY301
        return Look.model_validate_json(line)
    except ValidationError as error:
        raise SpecFault(
            f"this is no look: {mistake(error)}",
            at=at,
            fix="record looks with `sojourn manage --record FILE`, or see docs/howto/manage.md",
        ) from None
    except ValueError as error:
        raise SpecFault(f"this is no look: {error}", at=at, fix="cut the line") from None


def decisions(results: Iterable[Look], rule: Rule) -> Iterator[tuple[Look, Decision]]:
    """What a rule decides at each look."""
    past: tuple[Look, ...] = ()
    memory: Any = {}
    for one in results:
        past = (*past, one)[-LOOKS_MAX:]
        decision = rule.decide(History(looks=past, memory=memory, constants=rule.constants))
        memory = decision.memory
        yield one, decision


def as_line(one: Look, decision: Decision) -> str:
    """A decision as JSON, its keys in order, so that equal decisions are equal bytes."""
    changes = [asdict(change) for change in decision.changes]
    return json.dumps({"t_s": one.t_s, "changes": changes}, sort_keys=True, ensure_ascii=False)
