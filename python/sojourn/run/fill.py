"""What a server is given before it is measured: its items, and requests until it is warm."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sojourn.errors import RunFault
from sojourn.run import generator
from sojourn.run.generator_job import Files
from sojourn.run.journal import Journal
from sojourn.run.live import RunningService
from sojourn.run.waits import TIMEOUT_S_MIN
from sojourn.run.watch import Deadline
from sojourn.services.capabilities import filling

WARM_S_MAX = 60.0
FIRST_S = 0.2  # of the first run
REPLIES = 5.0  # the first run of a slow service lasts this part of what a request may take


def preload(live: RunningService, journal: Journal, folder: Path, client: Mapping[str, Any]) -> int:
    """Set every item, where the service holds items.

    The same run begins to warm it, because each run of the generator takes a quarter of a second
    to start and to end.

    Returns:
        How many requests were answered beyond those that set the items.
    """
    amount = filling(live.service)
    if not amount.is_preloaded:
        return 0
    files, job = Files.named(folder, "preload"), {**client, "preload": True}
    if amount.requests:
        return _answered(_run_fast(live, journal, files, job, FIRST_S))
    generator.run({**live.client(), **job, "rate": "1000", **_brief("100ms")}, files, journal)
    return 0


def _brief(duration: str) -> dict[str, Any]:
    """A run whose numbers no one reads."""
    return {"duration": duration, "warmup": "0s", "raw": "", "hlog": "", "probe_rate": 0.0}


def _run_fast(
    live: RunningService,
    journal: Journal,
    files: Files,
    client: Mapping[str, Any],
    length_s: float,
) -> Mapping[str, Any]:
    """The result of a run that asks as fast as the service answers."""
    reply_s = live.reply_s
    late = {"timeout": f"{reply_s:.3f}s"} if reply_s > TIMEOUT_S_MIN else {}
    brief = _brief(f"{length_s:.3f}s")
    job = {**live.client(), **late, **client, "find_max": True, **brief}
    return generator.run(job, files, journal)


def _answered(result: Mapping[str, Any]) -> int:
    """Requests that were answered, those in outages of the client too: they have warmed as well."""
    every = result["sojourn_all_ns"]
    return int(every["count"]) - int(every["lost"])


def warm(
    live: RunningService,
    journal: Journal,
    folder: Path,
    client: Mapping[str, Any],
    *,
    done: int = 0,
) -> None:
    """Ask as fast as it answers until the caches are as full as they get.

    Args:
        live: what is asked.
        journal: where runs are noted.
        folder: for their files.
        client: keys of the generator's job that the study gives.
        done: requests that were answered already.
    """
    wanted, reply_s = filling(live.service).requests, live.reply_s
    deadline = Deadline(max(WARM_S_MAX, REPLIES * reply_s))
    length_s = max(FIRST_S, reply_s / REPLIES)
    while done < wanted and not deadline.is_over:
        files = Files.named(folder, "warm")
        result = _run_fast(live, journal, files, client, length_s)
        answered = _answered(result)
        if answered == 0 and result["errors"]:
            raise RunFault(
                f"{live.label} gave no valid reply during the warm-up: {result['errors']}",
                at=str(folder / "warm.json"),
                fix="see the server's own log"
                if live.is_foreign
                else "see service.log and warm.log in the point's folder",
            )
        done += answered
        rate = max(1, answered) / length_s
        length_s = min(5.0, max(0.1, 1.1 * (wanted - done) / rate))
    share = "" if done >= wanted else f", {done / wanted:.0%} of what fills every cache"
    live.notes += (("warmed", f"{done:,} requests{share}".replace(",", " ")),)
