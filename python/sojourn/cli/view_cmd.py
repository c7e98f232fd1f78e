"""`sojourn view`: the records of a folder in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli import lowered
from sojourn.cli.options import RESULTS
from sojourn.cli.plain import put
from sojourn.errors import SpecFault

PORT = 8480

Folder = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FOLDER]",
        help="Folder of results, or of dumps of the black box; or one dump.",
        show_default=f"{RESULTS}",
    ),
]
Port = Annotated[
    int,
    typer.Option("--port", metavar="N", min=0, max=65535, help="Port on 127.0.0.1. 0: any."),
]


def view(folder: Folder = None, port: Port = PORT) -> None:
    """Show all records of a folder in a browser, also while they are measured.

    Dumps of `sojourn-trace --ring` in the folder are listed too: slow requests, stages, causes.

    It prints an address of this machine that bears a key, and answers until ^C. Who lacks the key
    sees nothing. Nothing in the folder is changed. Notes are stored in your own home. While load
    runs, it takes only CPU time that nothing else wants.

    \b
    Examples:
      sojourn view
      sojourn view campaign --port 9000
      sudo sojourn view /var/lib/sojourn-ring    dumps of the black box
      ssh -L 8480:127.0.0.1:8480 lab sojourn view    on another machine
    """
    from sojourn import extras

    extras.require(extras.WEB)
    extras.require(extras.SERVER)
    results = RESULTS if folder is None else folder
    is_file = results.is_file()
    if not is_file and not results.is_dir():
        raise SpecFault("there is no such folder", at=str(results), fix="name a folder of results")
    named, results = results, results.absolute().parent if is_file else results
    lowered.for_reading(results)
    from sojourn.view import dumps, links
    from sojourn.view.serve import serve

    if is_file:
        dumps.check(named)
    path = links.dump(named.name) if is_file else "/"
    serve(results, port, lambda address: put(f"open {address}\n^C ends it"), path)
