"""Options for a QoS target, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from sojourn.errors import SpecFault

_LOAD, USUAL_Q = "Load", 0.99

Bound = Annotated[
    str,
    typer.Option(
        "--bound",
        metavar="TIME",
        rich_help_panel=_LOAD,
        help="QoS bound: longest allowed latency at the quantile, such as 10ms.",
        show_default="5 times the quantile at 20 % load",
    ),
]
Quantile = Annotated[
    float,
    typer.Option(
        "--quantile",
        metavar="Q",
        rich_help_panel=_LOAD,
        help="Quantile of the target; 0.99 is p99.",
    ),
]


def words(bound: str, q: float) -> list[str]:
    """The same target for another command; only what is not usual.

    >>> words("100ms", 0.99), words("", 0.95)
    (['--bound', '100ms'], ['--quantile', '0.95'])
    """
    return [
        *(["--bound", bound] if bound else []),
        *(["--quantile", f"{q:g}"] if q != USUAL_Q else []),
    ]


@contextmanager
def refused() -> Iterator[None]:
    """Name the option that has the wrong value.

    Raises:
        SpecFault: quantile, bound or rates are none.
    """
    from pydantic import ValidationError

    from sojourn.spec.faults import mistakes

    try:
        yield
    except ValidationError as error:
        _, what, fix = next(mistakes(error, {}))
        options = ("bound", "--bound"), ("q is", "--quantile"), ("", "--rates")
        at = next(option for word, option in options if word in what)
        raise SpecFault(what, at=at, fix=fix) from None
