"""`sojourn mcp`: records for assistants."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli import lowered
from sojourn.cli.options import RESULTS
from sojourn.errors import SpecFault

Folder = Annotated[
    Path | None,
    typer.Argument(metavar="[FOLDER]", help="Folder of results.", show_default=f"{RESULTS}"),
]
Notes = Annotated[
    bool, typer.Option("--notes", help="Let the assistant write notes on records, too.")
]


def mcp(folder: Folder = None, notes: Notes = False) -> None:
    """Answer an assistant about all records of a folder: the Model Context Protocol on stdio.

    The assistant can list records and read answers, curves, doubts, and the commands to run next.
    It can query all runs with SQL. It runs no command and changes nothing.

    While load runs, it takes only CPU time that nothing else wants.

    \b
    Examples:
      claude mcp add sojourn -- sojourn mcp /home/me/results
      sojourn mcp campaign --notes
    """
    from sojourn import extras

    extras.require(extras.ASSISTANTS)
    results = RESULTS if folder is None else folder
    if not results.is_dir():
        raise SpecFault("there is no such folder", at=str(results), fix="name a folder of results")
    lowered.for_reading(results)
    from sojourn.browse import priority

    priority.step_back()  # before anything is loaded
    from sojourn.assistant.serve import serve

    serve(results, has_notes=notes)
