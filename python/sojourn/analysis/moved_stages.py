"""Which stage moved between traced records, or between traced services of one."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
Traces = Mapping[Key, list[tuple[Path, float]]]  # with the load that was planned, requests/s


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
    return tuple(
        _between(f"{service} {setting}, {name} against {names[0]}", program,
                 first[service, setting], other[service, setting])
        for name, other in zip(names[1:], others, strict=True)
        for service, setting in sorted(first.keys() & other.keys())
    )  # fmt: skip


def _between(
    what: str,
    program: Path | None,
    first: list[tuple[Path, float]],
    other: list[tuple[Path, float]],
) -> Moved:
    """What moved between records, unless the same share of max RPS is another load in each."""
    loads = first[0][1], other[0][1]
    if equal_loads.unlike(*loads):
        here, there = map(show_count, loads)
        why = f"one was traced at {here} requests/s, the other at {there}"
        return Moved(what=what, answer=f"not compared, because {why}")
    return _moved(what, program, first, other)


def in_turn(record: Record, phase: Phase, first: str) -> tuple[Moved, ...]:
    """What moved from one service to each other one of a record; () if they are not traced.

    Args:
        record: of services in turn.
        phase: of their traced points.
        first: label of the service that the others are held against.
    """
    traces = _traces(record, phase)
    program = programs.maybe(PROGRAM)
    return tuple(
        _moved(f"{service} against {first}", program, traces[first, setting], files)
        for (service, setting), files in sorted(traces.items())
        if service != first and (first, setting) in traces
    )


def _traces(record: Record, phase: Phase) -> Traces:
    """The traces of a record, in the order of their repeats."""
    by: dict[Key, list[tuple[int, Path, float]]] = defaultdict(list)
    for outcome in record.outcomes():
        point = outcome.point
        if point.phase is phase and traced.has_tracer(point) and outcome.is_believed:
            at = record.folder_of(outcome) / TRACE
            levels = {name: level for name, level in point.setting.items() if name != TRACER}
            setting = ", ".join(f"{name} {level}" for name, level in levels.items())
            if at.is_file():
                rps = point.offered_rps or 0.0  # of a closed loop none is planned
                by[point.service, setting].append((point.repeat, at, rps))
    return {key: [(path, rps) for _, path, rps in sorted(each)] for key, each in by.items()}


def _moved(
    what: str,
    program: Path | None,
    first: list[tuple[Path, float]],
    other: list[tuple[Path, float]],
) -> Moved:
    """The answer of the program for these pairs; why there is none, if there is none."""
    pairs = list(zip(first, other, strict=False))[:PAIRS]
    files = [str(path) for pair in pairs for path, _ in pair]
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
