"""Which stage moved between traced records, or between traced services of one."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import programs
from sojourn.analysis import equal_loads
from sojourn.analysis.comparison_rows import Moved
from sojourn.plan import traced
from sojourn.plan.points import Phase
from sojourn.plan.setting import TRACER
from sojourn.samples.traced import TRACE
from sojourn.units import show_count, show_ns
from sojourn.visible import visible

if TYPE_CHECKING:
    from sojourn.store import Record

PROGRAM = "sojourn-trace"
WITHIN_S = 60.0
PAIRS = 20  # of traces, at most: more decide no more
PARTS = 6  # of mean and tail, the largest changes
SHOWN = 0.005  # of the first side's total; a smaller change is not shown
Key = tuple[str, str]  # service and setting
Pairs = Sequence[tuple[Path, Path]]


@dataclass(frozen=True, slots=True)
class Trace:
    """One trace: its block, its file, and the load that was planned, requests/s."""

    repeat: int
    path: Path
    rps: float


Traces = Mapping[Key, Sequence[Trace]]  # in the order of their blocks


def moved(names: Sequence[str], records: Sequence[Record]) -> tuple[Moved, ...]:
    """What moved from the first record to each other one; () if no setting is traced in both.

    Args:
        names: of the records, short.
        records: in the same order.
    """
    first, *others = (_traces(record, Phase.TRACE) for record in records)
    if not any(first.keys() & other.keys() for other in others):
        return ()
    program = programs.maybe(PROGRAM)
    results = []
    for name, other in zip(names[1:], others, strict=True):
        for key in sorted(first.keys() & other.keys()):
            what = f"{' '.join(key)}, {name} against {names[0]}"
            if why := _unlike(first[key][0].rps, other[key][0].rps):
                results.append(Moved(what=what, answer=f"not compared, because {why}"))
                continue
            both = zip(first[key], other[key], strict=False)
            results.append(_moved(what, program, [(one.path, two.path) for one, two in both]))
    return tuple(results)


def _unlike(first_rps: float, other_rps: float) -> str:
    """Why traces of two records do not compare: the same share of max RPS is another load in each.

    "" where they do.
    """
    if not equal_loads.unlike(first_rps, other_rps):
        return ""
    here, there = map(show_count, (first_rps, other_rps))
    return f"one was traced at {here} requests/s, the other at {there}"


def in_turn(record: Record, phase: Phase, first: str) -> tuple[Moved, ...]:
    """What moved from one service to each other one of a record; () if they are not traced.

    Args:
        record: of services in turn.
        phase: of their traced points.
        first: label of the service that the others are held against.
    """
    traces = _traces(record, phase)
    program = programs.maybe(PROGRAM)
    results = []
    for service, setting in sorted(traces):
        if service == first or (first, setting) not in traces:
            continue
        what = f"{service} against {first}"
        if pairs := _of_blocks(traces[first, setting], traces[service, setting]):
            results.append(_moved(what, program, pairs))
        else:
            why = "no block has valid traces of both"
            results.append(Moved(what=what, answer=f"not compared, because {why}"))
    return tuple(results)


def _of_blocks(first: Sequence[Trace], other: Sequence[Trace]) -> Pairs:
    """The traces of each block that has both: what changes from block to block is in both."""
    by_block = {one.repeat: one.path for one in first}
    return [(by_block[one.repeat], one.path) for one in other if one.repeat in by_block]


def _traces(record: Record, phase: Phase) -> Traces:
    """The traces of a record, in the order of their repeats."""
    by: dict[Key, list[Trace]] = defaultdict(list)
    for outcome in record.outcomes():
        point = outcome.point
        if point.phase is phase and traced.has_tracer(point) and outcome.is_believed:
            at = record.folder_of(outcome) / TRACE
            levels = {name: level for name, level in point.setting.items() if name != TRACER}
            setting = ", ".join(f"{name} {level}" for name, level in levels.items())
            if at.is_file():
                rps = point.offered_rps or 0.0  # of a closed loop none is planned
                by[point.service, setting].append(Trace(point.repeat, at, rps))
    return {key: sorted(each, key=lambda one: one.repeat) for key, each in by.items()}


def _moved(what: str, program: Path | None, pairs: Pairs) -> Moved:
    """The answer of the program for these pairs; why there is none, if there is none."""
    files = [str(path) for pair in pairs[:PAIRS] for path in pair]
    if program is None:
        return Moved(what=what, answer=f"not known, because {PROGRAM} is not installed here")
    try:
        done = subprocess.run(
            [str(program), "diff", *files, "--json", "-"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=WITHIN_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode not in {0, 3}:
            why = visible(done.stderr.strip().splitlines()[0] if done.stderr.strip() else "")
            return Moved(what=what, answer=f"not known: {why or 'the program failed'}")
        result = json.loads(done.stdout)
        return Moved(what=what, answer=str(result["answer"]), rows=tuple(_rows(result)))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        return Moved(what=what, answer=f"not known: {visible(str(error))}")


def _rows(result: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Lines of both tables: what, first, second, change, its interval, whether it moved."""
    for name, key in (("mean", "mean"), ("tail", "tail"), ("tail, by cause", "culprits")):
        if not (table := result.get(key)):
            continue
        total = table["total"]
        yield _line(name, "total", total)
        large = [
            part
            for part in table["parts"]
            if part["has_moved"] or abs(part["change_ns"]) >= SHOWN * total["first_ns"]
        ][:PARTS]
        yield from (_line(name, part["name"], part) for part in large)
        rest = [part for part in table["parts"] if part not in large]
        if rest:
            sums = {
                end: sum(p[end] for p in rest) for end in ("first_ns", "second_ns", "change_ns")
            }
            yield _line(name, f"{len(rest)} other parts", sums)


def _line(table: str, name: str, part: Mapping[str, Any]) -> tuple[str, ...]:
    low, high = part.get("low_ns"), part.get("high_ns")
    interval = "–" if low is None or high is None else f"{_signed(low)} to {_signed(high)}"
    state = "moved" if part.get("has_moved") else ""
    sides = (show_ns(part["first_ns"]), show_ns(part["second_ns"]))
    return (table, name, *sides, _signed(part["change_ns"]), interval, state)


def _signed(ns: float) -> str:
    return f"{'-' if ns < 0 else '+'}{show_ns(abs(ns))}"
