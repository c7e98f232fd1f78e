"""A service that runs already: it is looked for, and awaited where it ended.

Who started it may start it again: a supervisor, an orchestrator, or its own parent process. The
point during which it ended is unknown. The next one waits until the service answers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from sojourn.errors import RunFault
from sojourn.places import proc
from sojourn.places.foreign import Foreign
from sojourn.run.live import RunningService
from sojourn.run.watch import Deadline, Event, Show
from sojourn.services.capabilities import Running
from sojourn.services.own.external import AmbiguousFault
from sojourn.visible import in_line

BACK_S_MAX = 20.0  # until it answers again; then it is not restarted
LOOK_S = 0.2
_UNSEEN = "cannot be seen from here: its CPU time is not known"


def find(live: RunningService, service: Running) -> None:
    """Reach one that runs already, and find its processes where they can be seen."""
    live.address = service.address()
    live.argv = (live.service.endpoint(live.address).target,)
    if not live.answers():
        raise RunFault(
            f"{live.label} does not answer any more",
            at=live.argv[0],
            fix="start it again, then run the study again: it resumes",
        )
    try:
        live.process = service.process()
    except AmbiguousFault as fault:
        live.notes += (("processes", f"{fault.what}; its CPU time is not known. Fix: {fault.fix}"),)
        return
    seen = live.members()
    names = f"{len(seen)}, the first is {in_line(seen[0].name)} ({seen[0].pid})" if seen else ""
    text = f"{names}; CPU time is theirs, without servers behind them" if seen else _UNSEEN
    live.notes += (("processes", text),)
    if isinstance(live.process, Foreign) and live.process.idle:
        held = (proc.stat(pid) for pid in live.process.idle)
        named = ", ".join(f"{in_line(result.name)} ({result.pid})" for result in held if result)
        live.notes += (("socket", f"held by {named} as well, who accepted no connection"),)


def until_back(lives: Sequence[RunningService], show: Show) -> float | None:
    """Wait until all of these services answer, at once if they do.

    Returns:
        How long that took, s; None: one did not answer within `BACK_S_MAX`.
    """
    limit, started = Deadline(BACK_S_MAX), time.monotonic()
    for live in lives:
        is_shown = False
        while not live.answers():
            if limit.is_over:
                return None
            if not is_shown:
                text = f"{live.label} does not answer; waiting for it, {BACK_S_MAX:.0f} s at most"
                show(Event(step="back", text=text, service=live.label))
                is_shown = True
            time.sleep(min(LOOK_S, limit.left_s))
    return time.monotonic() - started if lives else 0.0
