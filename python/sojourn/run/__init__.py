"""Plan → run folder: processes started, watched and ended; what was changed is put back."""

from __future__ import annotations

from sojourn.places.ledger import Undone
from sojourn.run.execute import execute
from sojourn.run.preview import Held, check, hold, mistakes, nothing_left
from sojourn.run.ready import Patience, Ready, ready
from sojourn.run.restore import restore
from sojourn.run.session import Session
from sojourn.run.signals import Interrupted
from sojourn.run.turn import Holder, taken, unseen
from sojourn.run.watch import Event, Show

__all__ = [
    "Event",
    "Held",
    "Holder",
    "Interrupted",
    "Patience",
    "Ready",
    "Session",
    "Show",
    "Undone",
    "check",
    "execute",
    "hold",
    "mistakes",
    "nothing_left",
    "ready",
    "restore",
    "taken",
    "unseen",
]
