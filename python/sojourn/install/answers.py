"""Inputs and right answers of a service that was made: a line each, in one order.

The service is given the inputs; the answers stay with the lab, which holds replies against them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sojourn.install import cpp

INPUTS, ANSWERS = "inputs.txt", "answers.txt"


def keep(into: Path, name: str, lines: Sequence[str]) -> None:
    """Write lines into a file of the thing that is made.

    Raises:
        ValueError: one of them is empty, or more than a line.
    """
    for line in lines:
        if not line.strip() or "\n" in line:
            raise ValueError(f"no line of {name} may be {line!r}")
    (into / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def answers_of(program: Path, into: Path) -> tuple[str, ...]:
    """What a program that was made answers to its inputs, in their order.

    It is asked again in the other order: an answer must not depend on those before it.

    Raises:
        ValueError: it fails, has another number of answers than of inputs, or does not always
            answer alike.
    """
    inputs = read(into / INPUTS)
    once = _listed(program, into)
    keep(into, INPUTS, inputs[::-1])
    again = _listed(program, into)[::-1]
    keep(into, INPUTS, inputs)
    if len(once) != len(inputs):
        raise ValueError(f"{program.name} has {len(once)} answers to {len(inputs)} inputs")
    for the_inputs, first, second in zip(inputs, once, again, strict=True):
        if first != second:
            raise ValueError(
                f"{program.name} answers {the_inputs!r} with {first!r}, then {second!r}"
            )
    return once


def read(path: Path) -> tuple[str, ...]:
    """The lines of a file; their blanks at the end belong to them."""
    return tuple(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))


def _listed(program: Path, into: Path) -> tuple[str, ...]:
    text = cpp.ran((program, "--data", into, "--list"), cwd=into).decode()
    return tuple(text.removesuffix("\n").split("\n"))
