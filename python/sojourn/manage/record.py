"""The looks of a manager in a file, for a replay."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from sojourn.controllers.look import Look
from sojourn.manage.log import Log


class Record:
    """Looks as JSON, one a line."""

    def __init__(self, name: str, stack: ExitStack) -> None:
        """Open the file until the stack is closed; RunFault if it cannot be written."""
        self._log = Log(Path(name))
        stack.callback(self._log.close)

    def write(self, look: Look) -> None:
        """Append one; RunFault if it cannot be written."""
        self._log.write(look.model_dump_json().encode())
