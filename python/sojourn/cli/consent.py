"""What a study does to others than the lab: reported on stderr, and agreed to with `--yes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.faults import say
from sojourn.visible import in_line

if TYPE_CHECKING:
    from sojourn.spec import Study

Yes = Annotated[
    bool,
    typer.Option(
        "--yes",
        "-y",
        rich_help_panel="Study",
        help="Allow load on services of other machines. Load only machines that are yours.",
    ),
]


def say_asked(study: Study) -> None:
    """Say which services are asked three times before anything is measured, and which are not."""
    from sojourn import run

    for target in run.targets(study):
        if target.is_foreign and target.is_here:
            say(f"sending three test requests to {in_line(target.text)}, to check its answers")
        elif target.is_foreign:
            say(
                f"{in_line(target.text)} is another machine: no test requests now; `sojourn run` "
                "sends them"
            )


def agreed(name: str, study: Study, *, is_agreed: bool) -> None:
    """Say what a file that does not come with the lab will do; refuse other machines unasked.

    Args:
        name: of the study, or path of its file.
        study: that it holds.
        is_agreed: whether `--yes` was given.

    Raises:
        SpecFault: it loads another machine, and no one has agreed.
    """
    from sojourn import run, spec
    from sojourn.questions import PLANS

    run.refuse_others(study, is_agreed=is_agreed)
    if spec.find(name).resolve().parent != spec.STUDIES.resolve():
        say(f"{in_line(name)} is not a built-in study. A study is a program; this one will")
        for line in run.effects(study, PLANS):
            say(f"  {in_line(line)}")
