"""The audit log: each decision as a line of JSON, with reason and effect."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from sojourn import disk


class Audit:
    """Writes lines to a file, and shows each to whoever watches."""

    def __init__(self, path: Path | None, show: Callable[[dict[str, Any]], None]) -> None:
        """A RunFault if the file cannot be opened."""
        self._show = show
        self._file: IO[bytes] | None = None
        if path is not None:
            try:
                self._file = disk.append(path)
            except OSError as error:
                raise disk.disk_fault(error, path) from None
            self._path = path

    def say(self, event: str, **facts: Any) -> None:
        """One line; it is on disk before the manager goes on."""
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "event": event,
            **facts,
        }
        if self._file is not None:
            try:
                text = json.dumps(line, ensure_ascii=False)  # half a letter becomes its escape
                self._file.write(text.encode(errors="backslashreplace") + b"\n")
                self._file.flush()
            except OSError as error:
                raise disk.disk_fault(error, self._path) from None
        self._show(line)

    def close(self) -> None:
        """Close the file; nothing more is written."""
        if self._file is not None:
            disk.shut(self._file)
