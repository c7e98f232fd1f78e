"""Reads damaged examples until a time is over, and tells how much of the code they reached.

A test takes some dozens of examples, the same in every run. SOJOURN_FUZZ_S says for how many
seconds each target is read in a longer run (`make fuzz`); its examples are others each time.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import sys
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from sojourn.errors import Fault

BUDGET_S = float(os.environ.get("SOJOURN_FUZZ_S", "0"))
FEW, MANY = 25, 400  # examples of a test, and of each round of a longer run


@dataclass(frozen=True)
class Target:
    """What is read: how it is damaged, by what it is read, and which modules do that."""

    like: Callable[[bytes], st.SearchStrategy[bytes]]
    sound: bytes
    reads: Callable[[bytes], object]
    code: tuple[str, ...]
    few: int = FEW


class Reached:
    """Which lines of some modules ran."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        self._files = {str(importlib.import_module(f"sojourn.{one}").__file__) for one in modules}
        self.lines: set[tuple[str, int]] = set()

    def _call(self, frame: types.FrameType, _event: str, _arg: object) -> Any:
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: types.FrameType, event: str, _arg: object) -> Any:
        if event == "line":
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Look which lines run meanwhile."""
        before = sys.gettrace()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)

    @property
    def total(self) -> int:
        """Lines of functions that could run."""
        count = 0
        for file in self._files:
            codes = [compile(Path(file).read_text(encoding="utf-8"), file, "exec")]
            for code in codes:
                codes += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
            count += len({line for code in codes[1:] for *_, line in code.co_lines() if line})
        return count


def fuzz(name: str, target: Target) -> None:
    """Read examples until the time is over; what is raised beside a fault is shrunk and shown."""
    count, reached, began_s = 0, Reached(target.code), time.monotonic()

    def once(data: bytes) -> None:
        nonlocal count
        count += 1
        with contextlib.suppress(Fault):
            target.reads(data)

    def watched(data: bytes) -> None:
        with reached.watched():
            once(data)

    for number in range(10**9):
        one = given(target.like(target.sound))(watched if number == 0 and BUDGET_S else once)
        settings(
            max_examples=MANY if BUDGET_S else target.few,
            deadline=None,
            database=None,
            derandomize=not BUDGET_S,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
        )(seed(random.randrange(2**32))(one) if BUDGET_S else one)()  # noqa: S311 - no secret
        if time.monotonic() - began_s >= BUDGET_S:
            break
    took_s = time.monotonic() - began_s
    if BUDGET_S:
        lines = f"first {MANY}: {len(reached.lines)} of {reached.total} lines"
        sys.stdout.write(f"\n{name:<12} {count:>8} executions, {took_s:.0f} s; {lines}\n")
    if count < target.few:
        raise AssertionError(f"only {count} examples were read")
