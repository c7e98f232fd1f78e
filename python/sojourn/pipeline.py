"""The whole program on one screen: study → points → measurements → findings → report.

The only file that knows every stage. A point that fails is kept as `unknown` with its reason and
the plan decides what to do; when points fail in a row, their combination of levels is given up, or
the study stops.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from sojourn import analysis, host, plan, questions, report, run, samples, store
from sojourn.errors import Fault, RunFault
from sojourn.findings.findings import Findings
from sojourn.findings.measured import StudyData
from sojourn.host import ci, culprits
from sojourn.models.classify.section import with_classes
from sojourn.plan import Outcome, Point, design, failures, left_out
from sojourn.record.load import study_data
from sojourn.record.summarised import summarise
from sojourn.report.platforms import with_platforms
from sojourn.spec import Study
from sojourn.store import files

TRIED = "sojourn try"  # what was typed for a study that is not stored
GLANCE_S = 30.0  # of measuring
NAMED_S, NAMED_MAX = 1.0, 3  # how long to look for who disturbs, and how many to name
PATIENCE = run.Patience()
STRANGE = "see whether it was changed by hand; if not, report this with the record"


class Watcher(Protocol):
    """Whoever wants to see a study go on."""

    def opened(self, record: store.OpenRecord, facts: host.Facts) -> None:
        """The record is open; it may have outcomes from before."""

    def event(self, event: run.Event) -> None:
        """A service takes a step, or a second of load has passed."""

    def began(self, point: Point, outcomes: Sequence[Outcome]) -> None:
        """Called when a point begins, with the outcomes so far."""

    def ended(self, outcome: Outcome, outcomes: Sequence[Outcome]) -> None:
        """Called when a point is stored, with the outcomes so far, its own included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What a study left: its record, its findings, its report, and the texts stored for `show`."""

    path: Path
    findings: Findings
    pages: tuple[Path, ...]
    texts: store.Texts | None = None


def run_study(
    study: Study,
    results: Path,
    watcher: Watcher,
    *,
    resume: bool = True,
    command: str = "",
    patience: run.Patience = PATIENCE,
) -> Done:
    """Measure what is not measured yet, then find and report; one study at a time on a machine."""
    with run.taken(
        study.name, watcher.event, wait_s=patience.turn_s, is_forced=patience.is_forced
    ) as other:
        path = _measured(study, results, watcher, patience, other, resume=resume, command=command)
        texts = store.Texts(path)
        findings, pages = written(path)
        return Done(path=path, findings=findings, pages=tuple(pages), texts=texts)


def glance(
    study: Study, watcher: Watcher, *, patience: run.Patience = PATIENCE, length_s: float = GLANCE_S
) -> Findings:
    """Measure a study and keep nothing: what it found is all that is left of it.

    No point is begun when `length_s` are over. A fault names no file of it, because all are gone.
    No command would go on with it, so none is named.
    """
    with (
        run.taken(
            study.name, watcher.event, wait_s=patience.turn_s, is_forced=patience.is_forced
        ) as other,
        tempfile.TemporaryDirectory(prefix="sojourn-") as name,
        run.without_files_of(Path(name)),
    ):
        path = _measured(study, Path(name), watcher, patience, other, brief_s=length_s)
        findings = findings_of(path)
    return replace(findings, state=replace(findings.state, settle=None))


def _measured(
    study: Study,
    results: Path,
    watcher: Watcher,
    patience: run.Patience,
    other: run.Holder | None,
    *,
    resume: bool = False,
    command: str = "",
    brief_s: float | None = None,
) -> Path:
    """Measure what is not measured yet; returns the record's folder.

    A brief one (of `brief_s`) is looked at once and thrown away: the machine is not described for
    later readers.
    """
    is_brief = brief_s is not None
    facts = host.read(sample_s=0.0) if is_brief else host.read()
    is_away = design.servers(study) != ("",)  # then that host says what it cannot do
    skipped = () if is_away else run.check(study, facts, questions.catalogue())
    here = left_out.without(study, skipped)
    store.prepare(results)
    before = (
        run.Ready() if is_away else run.ready(here, facts, patience, watcher.event, names=_names)
    )
    about = {"noise": [], "command": TRIED} if is_brief else manifest(facts, command, before, other)
    with ExitStack() as stack:
        source = stack.enter_context(_source(study, watcher.event, facts, patience))
        if source.skipped:
            skipped, here = source.skipped, left_out.without(study, source.skipped)
        again = partial(plan.again, here, questions=questions.PLANS)
        record = stack.enter_context(
            store.open(results, study, resume=resume, manifest=about, skipped=skipped, again=again)
        )
        whole, show = questions.catalogue(), watcher.event
        session = stack.enter_context(
            run.Session(facts, show=show, whole=here, catalogue=whole, source=source)
        )
        watcher.opened(record, facts)
        measure(here, record, session, watcher, length_s=math.inf if brief_s is None else brief_s)
        outcomes = [questions.PLANS.known(outcome) for outcome in record.outcomes()]
        store.keep_left_out(record.path, [*skipped, *failures.abandoned(here, outcomes)])
        record.finish()
        return record.path
    raise AssertionError  # a stack hides no fault


@contextmanager
def _source(
    study: Study, show: run.Show, facts: host.Facts, patience: run.Patience
) -> Iterator[run.Source]:
    """Where load comes from: this host, or a cluster, which is left at the end."""
    if study.hosts is None:
        yield run.HERE
        return
    from sojourn import hosts  # noqa: PLC0415  # a study of one host needs none of it

    with hosts.source(study, show, facts, is_forced=patience.is_forced) as source:
        yield source


def _names(cpus: Sequence[int]) -> tuple[str, ...]:
    """Who runs on some CPUs, worst first."""
    return tuple(culprit.text for culprit in culprits.read(cpus, NAMED_S)[:NAMED_MAX])


def measure(
    study: Study,
    record: store.OpenRecord,
    session: run.Session,
    watcher: Watcher,
    *,
    length_s: float = math.inf,
) -> None:
    """Point by point, each kept before the next is planned: a later failure loses nothing.

    No point is begun when `length_s` are over, or when a brief measurement lost its service for
    good: what is known by then is the answer. Time in which a service was away comes on top.
    """
    limit, is_brief = run.Deadline(length_s), length_s < math.inf
    streak, last = failures.Streak(study, record.outcomes()), None
    planner = plan.Planner(study, questions.PLANS)
    gone = record.path if is_brief else None
    while not limit.is_over and (point := planner.next(record.outcomes())):
        watcher.began(point, record.outcomes())
        folders = [record.folder(member) for member in point.all]
        began_s = time.monotonic()
        try:
            under = design.study_of(study, point)
            with run.without_files_of(gone):
                run.execute(under, point, folders[0], session, folders[1:])
            outcomes = [samples.read(folder) for folder in folders]
        except RunFault as fault:
            whole = zip(point.all, folders, strict=True)
            outcomes = [
                failures.measured_nothing(member, folder, fault) for member, folder in whole
            ]
            last = fault
        else:
            last = None
        wall_s = time.monotonic() - began_s
        for folder, outcome in zip(folders, outcomes, strict=True):
            course = outcome.course
            with suppress(Fault):  # a report that lacks a summary makes it, or says what is wrong
                course = summarise(folder, outcome, study)
            stored = record.add(replace(outcome, wall_s=wall_s, course=course))
            watcher.ended(stored, record.outcomes())
        streak.add(outcomes, is_failure=last is not None)
        if last is not None and (
            streak.is_hopeless or not _is_back(session.away_s(point), limit, is_brief=is_brief)
        ):
            break
    if last is not None and (streak.has_nothing or (streak.is_hopeless and not is_brief)):
        raise last


def _is_back(away_s: float | None, limit: run.Deadline, *, is_brief: bool) -> bool:
    """Whether another point is worth it, after a service was away for so long; None: it still is.

    The time comes on top. A study goes on without it, because each point looks for it again.
    """
    limit.extend(away_s or 0.0)
    return away_s is not None or not is_brief


def manifest(
    facts: host.Facts, command: str, before: run.Ready, other: run.Holder | None
) -> dict[str, Any]:
    """What is known of the machine before anything runs (M25), what disturbs it first."""
    beside = [(f"measured at the same time as {other.text}", "measure alone")] if other else []
    hidden = [(why, "measure on the host itself")] if (why := run.unseen()) else []
    known = [(result.what, result.fix) for result in host.doctor(facts).findings]
    return {
        "command": command,
        "ci": ci.read(os.environ),
        "environment": host.manifest(facts),
        "preflight": before.table,
        "noise": [list(pair) for pair in (*beside, *before.noise, *hidden, *known)],
    }


def written(
    path: Path, out: Path | None = None, *, has_pictures: bool = False
) -> tuple[Findings, Sequence[Path]]:
    """Write a record's report, complete or not; needs no machine.

    Args:
        path: of the record.
        out: folder for the report; None: the record's own, which then keeps the answer as well.
        has_pictures: with every figure as SVG, PDF and PNG.
    """
    findings = findings_of(path)
    with files.readable(path, STRANGE):
        at = path if out is None else out
        pages = report.write(findings, at, questions.parts(), has_pictures=has_pictures)
    if out is not None:
        return findings, pages
    answer = report.answer(findings, questions.parts())
    store.keep_answer(path, str(findings.verdict), answer, findings.state.text)
    return findings, pages


def findings_of(path: Path) -> Findings:
    """What a record found, complete or not; needs no machine."""
    record = store.read(path)
    with files.readable(path, STRANGE):  # numbers of a record are what its maker wrote
        data = _stored_data(record)
        findings = questions.amended(analysis.study(data, questions.answers()), path)
        findings = with_platforms(findings, record)
        return with_classes(findings, record, data, questions.answers())


def text_of(path: Path, findings: Findings, width: int, *, is_coloured: bool = False) -> str:
    """The report of a record as text, in lines of so many columns."""
    with files.readable(path, STRANGE):
        return report.text(findings, questions.parts(), width, color=is_coloured)


def judged(path: Path) -> Findings:
    """What the points of a record say, without models and without classes of services."""
    with files.readable(path, STRANGE):
        return analysis.study(_stored_data(store.read(path)), questions.answers())


def _stored_data(record: store.Record) -> StudyData:
    return study_data(record, questions.PLANS, questions.readers())
