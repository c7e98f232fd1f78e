"""`sojourn view`: the records of a folder in a browser."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli import lowered
from sojourn.cli.options import RESULTS
from sojourn.cli.plain import put
from sojourn.errors import SpecFault

PORT = 8480
#: Name that the lab makes for a record's folder, of when it began. Records of other names are found
#: from their folder of results only: what has a `manifest.json` may be of any program.
RECORD = "[0-9]*T[0-9]*Z-*"
#: What a record's, a machine's and a study's own folder has, by how deep it lies in the results.
LOOKS = {3: "manifest.json", 2: f"{RECORD}/manifest.json", 1: f"*/{RECORD}/manifest.json"}

Folder = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FOLDER]",
        help="Folder of results, or a study or record in it; folder of dumps, or one dump.",
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
      sudo sojourn view /var/lib/sojourn-ring    # dumps of the black box
      ssh -L 8480:127.0.0.1:8480 lab sojourn view    # on another machine
    """
    from sojourn import extras

    extras.require(extras.WEB)
    extras.require(extras.SERVER)
    named = RESULTS if folder is None else folder
    is_file = named.is_file()
    if not is_file and not named.is_dir():
        raise SpecFault("there is no such folder", at=str(named), fix="name a folder of results")
    results, path = (named.absolute().parent, "") if is_file else _shown(named)
    lowered.for_reading(_foreign(named, results))
    from sojourn.view import dumps, links
    from sojourn.view.serve import serve

    if is_file:
        dumps.check(named)
        path = links.dump(named.name)
    serve(results, port, lambda address: put(f"open {address}\n^C ends it"), path)


def _foreign(named: Path, results: Path) -> Path:
    """Root reads as the owner of this folder: the first that is not root's, else the results.

    All of the results is served, so one folder of another user is enough: it may hold anything.
    """
    whole, top = named.resolve(), results.resolve()
    between = (one for one in whole.parents if one.is_relative_to(top))
    return next((one for one in (whole, top, *between) if one.stat().st_uid), results)


def _shown(folder: Path) -> tuple[Path, str]:
    """The folder of results that a folder is, or lies in, and the page that shows it."""
    from sojourn.view import links

    whole = folder.resolve()
    for depth, pattern in LOOKS.items():
        is_there = any(True for _ in folder.glob(pattern))
        is_own = depth < 3 or fnmatch(whole.name, RECORD)
        if is_there and is_own and len(whole.parents) > depth:  # `/` is no folder of results
            names = whole.parts[-depth:]
            filters = dict(zip(("study", "machine"), names, strict=False))
            path = links.record("/".join(names)) if depth == 3 else links.listing(**filters)
            return whole.parents[depth - 1], path
    return folder, "/"
