"""Measure the studies of a campaign, or write all their reports anew.

A study that is skipped or fails does not end the others.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from sojourn import disk, pipeline, run
from sojourn.campaign.entries import answered, faulty, measured, summary_of, unforeseen
from sojourn.campaign.planned import Planned
from sojourn.campaign.stored import DONE, Campaign
from sojourn.errors import Fault
from sojourn.report import index
from sojourn.report.index import Entry

BUDGET_S = {"quick": 3600.0}  # of one `run --all`, unless it is said otherwise

Stage = Callable[[Planned, Sequence[Entry]], AbstractContextManager[pipeline.Watcher]]


def measure(
    campaign: Campaign,
    planned: Sequence[Planned],
    stage: Stage,
    *,
    patience: run.Patience,
    is_new: bool = False,
    within_s: float | None = None,
) -> None:
    """Measure what is not measured yet, study by study; each is told as soon as it is known.

    Args:
        campaign: what is known so far.
        planned: its studies, in order.
        stage: shows the study that is measured.
        patience: how long others are waited for.
        is_new: whether records that are not complete are left as they are.
        within_s: a study that would end later than this, counted from now and as planned, waits for
            the next call; the first is begun in any case. None: all are measured.
    """
    campaign.write()
    began_s, is_first = time.monotonic(), True
    for number, one in enumerate(planned):
        if campaign.entries[number].state in DONE or one.fault is not None:
            continue
        gone_s = time.monotonic() - began_s
        if within_s is not None and not is_first and gone_s + one.entry.planned_s > within_s:
            continue
        is_first = False
        campaign.put(number, replace(one.entry, state=index.MEASURING))
        try:
            with stage(one, campaign.entries) as watcher:
                done = pipeline.run_study(
                    one.whole,
                    campaign.folder,
                    watcher,
                    resume=not is_new,
                    command=_command_of(one, campaign),
                    patience=patience,
                )
            entry = measured(one, done, campaign.folder)
        except Fault as fault:
            entry = faulty(one, fault, campaign.folder)
        except Exception as error:  # noqa: BLE001 - one study must not end the others
            entry = unforeseen(one, error, campaign.folder)
        campaign.put(number, entry)


def rewritten(campaign: Campaign, *, has_pictures: bool = False) -> Iterator[Path]:
    """Write every report of a campaign anew, and its page; gives their paths."""
    for number, entry in enumerate(campaign.entries):
        path = campaign.folder / entry.record
        if _is_record(campaign.folder, entry.record):
            findings, pages = pipeline.written(path, has_pictures=has_pictures)
            now = summary_of(findings, pages, path, campaign)
            if entry.state in DONE:  # what one that failed left behind decides nothing
                now |= answered(findings)
            campaign.entries[number] = replace(entry, **now)
            yield from (page for page in pages if page.suffix == ".html")
    campaign.write()
    yield campaign.page


def _is_record(folder: Path, record: str) -> bool:
    """Whether it is a folder below `folder` that no link leads to."""
    parts = Path(record).parts
    ways = (folder.joinpath(*parts[: n + 1]) for n in range(len(parts)))
    return bool(parts) and index.is_below(record) and all(map(disk.is_folder, ways))


def _command_of(one: Planned, campaign: Campaign) -> str:
    """The command that measures this study alone."""
    is_elsewhere = not all(target.is_here for target in run.targets(one.whole))
    parts = ["sojourn", "run", one.name, *(["--yes"] if is_elsewhere else [])]
    profile = campaign.identity["profile"]
    parts += ["--profile", str(profile)] if profile else []
    for text in campaign.identity["sets"]:
        parts += ["--set", text]
    parts += ["--results", str(campaign.folder)]
    return shlex.join(parts)
