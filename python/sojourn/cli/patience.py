"""Options of `sojourn run` for a machine that is not free: wait, or go on all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.errors import SpecFault
from sojourn.units import NS_PER_S, parse_ns

if TYPE_CHECKING:
    from sojourn.run import Patience

PANEL = "Machine"

Wait = Annotated[
    str,
    typer.Option(
        "--wait",
        metavar="TIME",
        rich_help_panel=PANEL,
        help="Wait up to this long for another study on this machine to end, such as 10m.",
    ),
]
CalmS = Annotated[
    float | None,
    typer.Option(
        "--calm-s",
        metavar="SECONDS",
        min=0,
        rich_help_panel=PANEL,
        help="Wait up to this long until other tasks leave the server's CPUs alone.",
        show_default="20 in quick, else 60",
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        rich_help_panel=PANEL,
        help="Do not wait: measure beside another study and on a busy machine. "
        "The record notes it.",
    ),
]


def patience(wait: str, calm_s: float | None, *, is_forced: bool) -> Patience:
    """What the options come to; SpecFault for a time that is none."""
    from sojourn.run import Patience

    try:
        turn_s = parse_ns(wait) / NS_PER_S
    except ValueError as error:
        raise SpecFault(str(error), at="--wait", fix="write a time such as 10m") from None
    return Patience(turn_s=turn_s, calm_s=calm_s, is_forced=is_forced)
