"""The looks of a manager in a file, for a replay."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from sojourn import disk
from sojourn.controllers.look import Look


class Record:
    """Looks as JSON, one a line."""

    def __init__(self, name: str, stack: ExitStack) -> None:
        """Open the file until the stack is closed; RunFault if it cannot be written."""
        self._path = Path(name)
        try:
            self._file = disk.append(self._path)
        except OSError as error:
            raise disk.disk_fault(error, self._path) from None
        stack.callback(disk.shut, self._file)

    def write(self, look: Look) -> None:
        """Append one; RunFault if it cannot be written."""
        try:
            self._file.write(look.model_dump_json().encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise disk.disk_fault(error, self._path) from None
