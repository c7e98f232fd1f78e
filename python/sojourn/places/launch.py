"""All that a place is asked when it starts a program, as one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

from sojourn.places.process import Ledger
from sojourn.places.users import User


@dataclass(frozen=True, slots=True)
class Launch:
    """A program that is to run in a place; what is left out is as `process.start` has it.

    Attributes:
        what: its name, for messages.
        argv: program and arguments; the program by its full path.
        cwd: where it runs.
        ledger: where it is noted.
        log: file for stdout and stderr.
        user: whom it becomes; None: it stays who the lab is.
        cpus: where it may run; none: where the lab may.
        open_files: how many it may have; 0: as the lab.
        variables: beside those of each program; other users of the machine cannot see them.
        carries: files and folders of this machine that it opens by itself, which a guest lacks.
    """

    what: str
    argv: Sequence[str | Path]
    _: KW_ONLY
    cwd: Path
    ledger: Ledger
    log: Path
    user: User | None = None
    cpus: Sequence[int] = ()
    open_files: int = 0
    variables: Mapping[str, str] = field(default_factory=dict)
    carries: tuple[Path, ...] = ()
