"""Plan → run folder: processes started, watched and ended; what was changed is put back."""

from __future__ import annotations

from sojourn.run.execute import execute
from sojourn.run.preview import check
from sojourn.run.restore import Undone, restore
from sojourn.run.session import Session
from sojourn.run.signals import Interrupted
from sojourn.run.watch import Event, Show

__all__ = ["Event", "Interrupted", "Session", "Show", "Undone", "check", "execute", "restore"]
