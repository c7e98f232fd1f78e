"""Plan → run folder: processes started, watched and ended; what was changed is put back."""

from __future__ import annotations

from sojourn.places.ledger import Undone
from sojourn.run.clients import HERE, Source
from sojourn.run.consent import Target, effects, refuse_others, targets
from sojourn.run.execute import execute
from sojourn.run.gone import without_files_of
from sojourn.run.preview import Held, check, hold, mistakes, nothing_left
from sojourn.run.ready import Patience, Ready, ready
from sojourn.run.restore import restore
from sojourn.run.session import Session
from sojourn.run.signals import Interrupted
from sojourn.run.turn import Holder, taken, unseen
from sojourn.run.watch import Deadline, Event, Show

__all__ = [
    "HERE",
    "Deadline",
    "Event",
    "Held",
    "Holder",
    "Interrupted",
    "Patience",
    "Ready",
    "Session",
    "Show",
    "Source",
    "Target",
    "Undone",
    "check",
    "effects",
    "execute",
    "hold",
    "mistakes",
    "nothing_left",
    "ready",
    "refuse_others",
    "restore",
    "taken",
    "targets",
    "unseen",
    "without_files_of",
]
