"""Which numbers are compared in turn, and how long a block with them takes."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from sojourn.errors import SpecFault
from sojourn.units import NS_PER_S, parse_count, parse_ns, show_s

NUMBERS = ("mean", "p50", "p99", "cpu")
MAX_RPS = "max_rps"  # it takes a run of its own
ALL_NUMBERS = (*NUMBERS, "p99.9", MAX_RPS)
BLOCKS_MOST = 10_000
BLOCKS_LEAST = 11  # four numbers, two sides, 1 %: a pair nearly doubles the evidence


def numbers_of(text: str, usual: str) -> list[str]:
    """What is compared.

    Args:
        text: as `--numbers` has it.
        usual: without one.

    Raises:
        SpecFault: a name is unknown, or given twice, or there is none.
    """
    names = [part.strip() for part in (text or usual).split(",") if part.strip()]
    fix = f"give some of {', '.join(ALL_NUMBERS)}, each once"
    if strange := [name for name in names if name not in ALL_NUMBERS]:
        raise SpecFault(f"there is no number '{strange[0]}'", at="--numbers", fix=fix)
    if not names or len(set(names)) < len(names):
        what = "a number is given twice" if names else "no number is given"
        raise SpecFault(what, at="--numbers", fix=fix)
    return names


def blocks_in(within: str, sides: int, measure_s: float, numbers: Sequence[str] = NUMBERS) -> int:
    """How many blocks fit into a time, about.

    Raises:
        SpecFault: the time is none, or too short for any answer.
    """
    try:
        length_s = parse_ns(within) / NS_PER_S
    except ValueError as error:
        raise SpecFault(str(error), at="--within", fix="write a time such as 10m") from None
    blocks = int(length_s / block_s(sides, measure_s, numbers))
    if blocks < BLOCKS_LEAST:
        least = BLOCKS_LEAST * block_s(sides, measure_s, numbers)
        raise SpecFault(
            f"{within} is time for {blocks} blocks with runs of {show_s(measure_s)}; an answer "
            f"takes {BLOCKS_LEAST} at least",
            at="--within",
            fix=f"give {show_s(least)} or more, or shorter runs by --measure-s",
        )
    return min(blocks, BLOCKS_MOST)


def block_s(sides: int, measure_s: float, numbers: Sequence[str] = NUMBERS) -> float:
    """About how long one block takes, s."""
    from sojourn.spec.sides import START_S, WARMUP_S

    runs = (MAX_RPS in numbers) + any(number != MAX_RPS for number in numbers)
    return runs * sides * (measure_s + WARMUP_S + START_S)


def run_s(measure_s: float, rate: str, numbers: Sequence[str]) -> float:
    """Length of a run that has enough requests for its numbers, s.

    Args:
        measure_s: at least.
        rate: as `--rate` has it; what is no rate is refused where the study is made.
        numbers: that are compared.
    """
    from sojourn.spec import sides

    rps = 0.0
    with contextlib.suppress(ValueError):
        rps = parse_count(rate)
    return sides.run_s(measure_s, rps, numbers)
