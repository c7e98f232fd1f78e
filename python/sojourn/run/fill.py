"""What a server is given before it is measured: its items, and requests until it is warm."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn.errors import RunFault
from sojourn.run import generator
from sojourn.run.generator import Files
from sojourn.run.journal import Journal
from sojourn.run.live import RunningService
from sojourn.run.waits import TIMEOUT_S_MIN
from sojourn.run.watch import Deadline

WARM_S_MAX = 60.0
REPLIES = 5.0  # the first run of a slow service lasts this part of what a request may take


def preload(
    live: RunningService, journal: Journal, folder: Path, client: Mapping[str, Any]
) -> None:
    """Set every item, where the service holds items."""
    if live.service.is_preloaded:
        job = {**live.client(), **client, "preload": True, "rate": "1000", **_brief("100ms")}
        generator.run(job, Files.named(folder, "preload"), journal)


def _brief(duration: str) -> dict[str, Any]:
    """A run whose numbers nobody reads."""
    return {"duration": duration, "warmup": "0s", "raw": "", "hlog": "", "probe_rate": 0.0}


def warm(live: RunningService, journal: Journal, folder: Path, client: Mapping[str, Any]) -> None:
    """Ask as fast as it answers until the caches are as full as they get."""
    wanted, done = live.service.warm_requests, 0
    reply_s = live.service.reply_s
    deadline = Deadline(max(WARM_S_MAX, REPLIES * reply_s))
    length_s = max(0.2, reply_s / REPLIES)
    late = {"timeout": f"{reply_s:.3f}s"} if reply_s > TIMEOUT_S_MIN else {}
    while done < wanted and not deadline.is_over:
        job = {**live.client(), **late, **client, "find_max": True, **_brief(f"{length_s:.3f}s")}
        got = generator.run(job, Files.named(folder, "warm"), journal)
        # All requests, those in outages of the client too: they have warmed the server as well.
        answered = int(got["sojourn_all_ns"]["count"]) - int(got["sojourn_all_ns"]["lost"])
        if answered == 0 and got["errors"]:
            raise RunFault(
                f"{live.label} gave no valid reply during the warm-up: {got['errors']}",
                at=str(folder / "warm.json"),
                fix="see the server's own log"
                if live.service.is_foreign
                else "see service.log and warm.log in the point's folder",
            )
        done += answered
        rate = max(1, answered) / length_s
        length_s = min(5.0, max(0.1, 1.1 * (wanted - done) / rate))
    share = "" if done >= wanted else f", {done / wanted:.0%} of what fills every cache"
    live.notes += (("warmed", f"{done:,} requests{share}".replace(",", " ")),)
