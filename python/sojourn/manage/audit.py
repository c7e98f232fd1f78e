"""The audit log: each decision as a line of JSON, with reason and effect."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn.manage.log import Log
from sojourn.visible import visible


class Audit:
    """Writes lines to a file, and shows each to whoever watches."""

    def __init__(self, path: Path | None, show: Callable[[dict[str, Any]], None]) -> None:
        """A RunFault if the file cannot be opened."""
        self._show = show
        self._log = Log(path) if path is not None else None

    def say(self, event: str, **facts: Any) -> None:
        """One line; the kernel has it before the manager goes on. RunFault if it has not."""
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "event": event,
            **facts,
        }
        if self._log is not None:
            # Others wrote parts of it: these may control a terminal, or hold half a letter.
            self._log.write(visible(json.dumps(line, ensure_ascii=False)).encode())
        self._show(line)

    def close(self) -> None:
        """Close the file; nothing more is written."""
        if self._log is not None:
            self._log.close()
