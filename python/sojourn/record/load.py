"""A record on disk → what analysis is given, each run by its summary where it has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sojourn.findings.measured import Measured, StudyData
from sojourn.host import unlike
from sojourn.plan import design, failures, left_out
from sojourn.plan.left_out import LeftOut
from sojourn.plan.points import Outcome
from sojourn.plan.questions import Questions
from sojourn.record import clocks, servers
from sojourn.record.point import culprits_of, pace_of
from sojourn.record.summarised import all_summarised, asked_quantiles, summary_of
from sojourn.samples import culprits, read_json
from sojourn.samples.names import HOST
from sojourn.spec import Study
from sojourn.store import files, index, resumption
from sojourn.store.record import OF_RECORD, Record
from sojourn.visible import in_line, own_command

SERVICE = "service.json"
NO_SHIELD = "none"


#: What a question alone reads of a point's folder, by the question's name; None: nothing.
Readers = Mapping[str, Callable[[Path, Outcome], object]]
NO_READERS: Readers = MappingProxyType({})


def study_data(record: Record, questions: Questions, readers: Readers = NO_READERS) -> StudyData:
    """Everything measured so far in a record.

    Args:
        record: on disk.
        questions: all that may be asked.
        readers: of the files that questions keep beside the load's.

    Raises:
        StoreFault: a file is missing, damaged, or of a newer version.
    """
    with files.readable(record.path, OF_RECORD):
        return _study_data(record, questions, readers)


def _study_data(record: Record, questions: Questions, readers: Readers) -> StudyData:
    outcomes = [questions.known(outcome) for outcome in record.outcomes()]
    manifest = record.manifest
    served = _served(record, outcomes)
    points = [(record.folder_of(o), o, asked_quantiles(record.study, o)) for o in outcomes]
    known = all_summarised(points)
    study, left = _left_out(record, outcomes)
    return StudyData(
        study=study,
        left_out=left,
        measured=tuple(
            _with_strangers(result, found_in, study)
            for found_in, result in (
                (point[0], known.get(point[0]) or _own(*point[:2], readers) or summary_of(*point))
                for point in points
            )
        ),
        questions=questions,
        setups={
            label: (*_setup(facts), *_of_hosts(tuple(_folders(record, outcomes, label))))
            for label, facts in served.items()
        },
        cpu_kinds={label: unlike.stored(facts) for label, facts in served.items()},
        workers={label: int(f["workers"]) for label, f in served.items() if f.get("workers")},
        started=str(manifest.get("started", "")),
        wall_s=sum(outcome.wall_s for outcome in outcomes),
        environment=dict(manifest.get("environment") or {}),
        noise=_pairs(manifest.get("noise")),
        study_file=record.study_file,
        command=own_command(str(manifest.get("command", ""))),
        is_complete=record.is_complete,
        reasons=(
            *(() if record.is_complete else ("the study is not finished: run it again",)),
            *_of_record(record, len(outcomes)),
        ),
    )


def _of_record(record: Record, points: int) -> Iterator[str]:
    """What to doubt because of how a record was made."""
    if len(measured := record.versions(points)) > 1:
        text = resumption.in_words(measured)
        yield f"several versions: points were measured {text}: measure anew with --new"
    for name in index.copies(record.path, points):
        yield f"copied point: {in_line(name)} is a copy of another point, and does not count"


def _left_out(record: Record, outcomes: Sequence[Outcome]) -> tuple[Study, tuple[LeftOut, ...]]:
    """The study that has been answered, and the combinations of levels that have not."""
    whole = record.study
    worked = {_home(whole, o) for o in outcomes if not failures.is_failed(o)}
    skipped = [one for one in record.skipped if design.home(one.service, one.levels) not in worked]
    given_up = failures.abandoned(left_out.without(whole, skipped), outcomes)
    never = [one for one in given_up if design.home(one.service, one.levels) not in worked]
    study = left_out.without(whole, [*skipped, *never])
    return study, (*left_out.by_design(whole), *skipped, *given_up)


def _home(study: Study, outcome: Outcome) -> str:
    return design.home(outcome.point.service, design.own_levels(study, outcome.point))


def _own(folder: Path, outcome: Outcome, readers: Readers) -> Measured | None:
    """A point whose question has files of its own beside the load's; None: it is like most."""
    read = readers.get(outcome.point.rules.keeps)
    if read is None or (own := read(folder, outcome)) is None:
        return None
    seen = culprits_of(folder) if outcome.point.rules.is_bare else ()
    return Measured(
        outcome=outcome,
        own=own,
        culprits=tuple(one.task for one in seen),
        culprit_pids={one.task: one.pids for one in seen if one.pids},
        pace=pace_of(folder, outcome),
    )


def _served(record: Record, outcomes: Sequence[Outcome]) -> dict[str, Mapping[str, Any]]:
    """What served, by label and levels: the last `service.json` of each: lives are set up alike.

    But for the shield: runs as the machine schedules have none, and speak only where no others are.
    """
    results: dict[str, Mapping[str, Any]] = {}
    for is_bare in (False, True):
        for outcome in reversed(outcomes):
            label = outcome.point.service
            path = record.folder_of(outcome) / SERVICE
            home = design.home(label, design.levels_of(record.study, outcome.point))
            is_meant = outcome.point.rules.is_bare is is_bare
            if home not in results and is_meant and path.exists():
                results[home] = read_json(path)
    return results


def _folders(record: Record, outcomes: Sequence[Outcome], home: str) -> Iterator[Path]:
    """The folders of all points of a service and its levels."""
    for outcome in outcomes:
        levels = design.levels_of(record.study, outcome.point)
        if record.study.hosts and design.home(outcome.point.service, levels) == home:
            yield record.folder_of(outcome)


def _of_hosts(folders: Sequence[Path]) -> tuple[tuple[str, str], ...]:
    """What points say of their clients' clocks, and of hosts that served in turn."""
    return (*clocks.rows(folders), *servers.rows(folders))


def _setup(facts: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """A service's facts for people: version, how it was set up, where it ran, what it shared."""
    placement = facts.get("placement") or {}
    rows = [("version", facts.get("version")), *_pairs(facts.get("setup"))]
    rows += [("placement", placement.get("text")), *_pairs(placement.get("shared"))]
    return tuple((what, str(how)) for what, how in rows if how)


def _with_strangers(measured: Measured, folder: Path, study: Study) -> Measured:
    """Where the study has no shield: who else ran on the server's CPUs, with their shares."""
    if study.run.shield != NO_SHIELD or not (folder / HOST).exists():
        return measured
    seen = read_json(folder / HOST).get("culprits")
    if seen is None:
        return measured
    results = tuple((one.task, one.cpu_share) for one in culprits.merged(seen))
    return replace(measured, others=results)


def _pairs(table: Any) -> tuple[tuple[str, str], ...]:
    """(what, how) pairs, as JSON has them: an object, or a list of two-element lists."""
    rows = table.items() if isinstance(table, Mapping) else table or ()
    return tuple((str(what), str(how)) for what, how in rows)
