"""A study's findings: arrays in, everything the report shows out. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sojourn.analysis import factors, machines, more, service, state, to_come
from sojourn.analysis.answer_kind import Answers
from sojourn.analysis.combinations import Part, parts
from sojourn.findings import point_row
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.findings.state import State
from sojourn.host.shared import KINDS_OF_CPU
from sojourn.plan.left_out import ABANDONED, SKIPPED
from sojourn.plan.points import worst
from sojourn.plan.rehearsal import Rehearsal
from sojourn.plan.setting import NEIGHBOUR
from sojourn.plan.traced import NO_NEIGHBOUR
from sojourn.spec import ServiceSpec

GROUPS = "groups"  # of a run's facts
NAMED_MAX = 3  # combinations in the answer; the report has all


def study(data: StudyData, answers: Answers) -> Findings:
    """What a study found.

    Args:
        data: the study and its points; an unfinished one gives `unknown` where it stops.
        answers: how each question is answered.
    """
    asked = [part for part in parts(data) if not _is_part(part.spec, answers)]
    services = tuple(
        replace(
            service.find(part.data, part.spec, answers),
            service=part.title,
            label=part.spec.label,
            levels=part.levels.levels,
        )
        for part in asked
    )
    effects, left = factors.effects(data.study, asked, services), to_come.ahead(data)
    whole = (
        (kind.name, kind.whole(data) or kind.compared(data, asked, services))
        for kind in answers.values()
    )
    sections = {name: section for name, section in whole if section}
    workers = [part.data.workers.get(part.spec.label) for part in asked]
    headlines = [section.headline for section in sections.values() if section.leads]
    headlines += [factor.sentence for factor in effects]
    headlines += _headlines(services, [*map(service.headline, services, workers)])
    headlines += [section.headline for section in sections.values() if not section.leads]
    headlines += [machines.one_machine(data.study, asked), _grouped(data, services), _missing(data)]
    verdicts = [s.verdict for s in services]
    verdicts += [section.verdict for section in sections.values() if section.verdict]
    reasons = [f"{s.service}: {reason}" for s in services for reason in s.reasons]
    reasons += [reason for section in sections.values() for reason in section.reasons]
    reasons += [*unlike_cpus(asked), *machines.in_turn(asked)]
    findings = Findings(
        study=data.study.name,
        question=data.study.question,
        answer=" ".join(filter(None, headlines)),
        verdict=worst(verdicts),
        reasons=(*data.reasons, *reasons),
        started=data.started,
        wall_s=data.wall_s,
        services=services,
        sections=sections,
        factors=effects,
        environment=data.environment,
        noise=data.noise,
        study_file=data.study_file,
        command=data.command,
        left_out=data.left_out,
        unanswered=tuple(_unanswered(data, asked, services, sections, left)),
        points=point_row.rows(
            data.study,
            (one.outcome for one in data.measured),
            {run.key: run for s in services for point in s.points for run in point.runs},
        ),
    )
    return _with_state(data, findings, answers, left)


def _unanswered(
    data: StudyData,
    asked: Sequence[Part],
    services: Sequence[ServiceFinding],
    sections: Mapping[str, Section],
    left: Rehearsal | None,
) -> Iterator[str]:
    """Questions without an answer, once for each thing that lacks one: all of these are open.

    That is a service without a section, a combination that was given up, and what an unfinished
    study (`left`) has not begun.
    """
    lacking = list(_lacking(data, asked, services, sections))
    yield from lacking
    yield from _abandoned(data, asked)
    if left is not None:
        yield from (name for name in to_come.open_names(data, left) if name not in lacking)


def _abandoned(data: StudyData, asked: Sequence[Part]) -> Iterator[str]:
    """The questions of combinations that the study has no more, because they failed."""
    here = {(part.spec.label, part.levels.text) for part in asked}
    for one in data.left_out:
        if one.state != ABANDONED or (one.service, one.levels.text) in here:
            continue
        spec = data.study.service(one.service)
        for kind in data.questions.values():
            if kind.is_asked(data.study, spec) or one.service in kind.members(data.study):
                yield kind.name


def _lacking(
    data: StudyData,
    asked: Sequence[Part],
    services: Sequence[ServiceFinding],
    sections: Mapping[str, Section],
) -> Iterator[str]:
    """Questions that the study asks and that gave no section, for each service that lacks it."""
    for kind in data.questions.values():
        if kind.name in sections:
            continue
        if kind.members(data.study):
            yield kind.name
            continue
        for part, result in zip(asked, services, strict=True):
            if kind.is_asked(part.data.study, part.spec) and kind.name not in result.sections:
                yield kind.name


def _with_state(
    data: StudyData, findings: Findings, answers: Answers, left: Rehearsal | None
) -> Findings:
    """How far its question is answered, and what would settle what is open."""
    who, whole = state.leading(findings, answers)
    is_done = bool(whole.of) and whole.done == whole.of
    settle = None if is_done else more.settle(data, findings, who, left)
    return replace(
        findings, state=State(done=whole.done, of=whole.of, unit=whole.unit, settle=settle)
    )


def _headlines(services: Sequence[ServiceFinding], texts: Sequence[str]) -> list[str]:
    """The sentence of each combination, those that are alike once, what is unknown last.

    >>> _headlines((), ())
    []
    """
    owner: dict[tuple[str, str], list[str]] = defaultdict(list)
    for finding, sentence in zip(services, texts, strict=True):
        owner[finding.label, sentence].append(finding.service.removeprefix(f"{finding.label}, "))
    alike = sorted(owner.items(), key=lambda one: one[0][1].startswith("Whether"))
    every = Counter(result.label for result in services)
    return [_under(titles, every[label], text) for (label, text), titles in alike if text]


def _under(titles: Sequence[str], of: int, text: str) -> str:
    """The sentence, with the combinations that it is of.

    >>> _under(["threads = 1", "threads = 2"], 3, "Whether it holds is unknown.")
    'With threads = 1 or threads = 2: whether it holds is unknown.'
    """
    if of == 1:
        return text
    under = f"With {' or '.join(titles)}"
    if len(titles) == of:
        under = f"Under all {of} combinations"
    elif len(titles) > NAMED_MAX:
        under = f"Under {len(titles)} of {of} combinations"
    return f"{under}: {text[0].lower()}{text[1:]}"


def _grouped(data: StudyData, services: Sequence[ServiceFinding]) -> str:
    """How tasks were grouped, of a study about what others do to a service; "" of any other."""
    study = data.study
    is_beside = (
        study.neighbour != NO_NEIGHBOUR or NEIGHBOUR in study.factors or GROUPS in study.factors
    )
    rows = dict.fromkeys(dict(one.setup).get(GROUPS, "") for one in services)
    texts = [text for text in rows if text]
    if not (is_beside and texts):
        return ""
    return f"Grouping of the tasks: {' · '.join(texts)}."


def unlike_cpus(asked: Sequence[Part]) -> list[str]:
    """That combinations of a service ran on CPUs of unlike kinds, by what their runs noted."""
    kinds: dict[str, set[frozenset[tuple[str, int]]]] = defaultdict(set)
    texts: dict[str, dict[str, None]] = defaultdict(dict)
    for part in asked:
        label = part.spec.label
        kinds[label].add(part.data.cpu_kinds.get(label, frozenset()))
        texts[label][dict(part.data.setups.get(label, ())).get(KINDS_OF_CPU, "")] = None
    return [
        f"{label}: combinations ran on unlike CPUs, so a difference between them may be that of "
        f"the CPUs: {'; or '.join(filter(None, texts[label]))}"
        for label, of in kinds.items()
        if len(of) > 1
    ]


def _missing(data: StudyData) -> str:
    """Which combinations have no answer, as a sentence; "" if all have that the design has."""
    texts = []
    for how in (SKIPPED, ABANDONED):
        own = [one for one in data.left_out if one.state == how]
        named = ", ".join(one.who for one in own[:NAMED_MAX])
        more = f" and {len(own) - NAMED_MAX} more" if len(own) > NAMED_MAX else ""
        texts += [f"{how}: {named}{more}"] if own else []
    text = "; ".join(texts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _is_part(spec: ServiceSpec, answers: Answers) -> bool:
    """Whether a question takes the service for all it says of the study, not by itself."""
    return any(kind.name in spec.measure and kind.is_part(spec) for kind in answers.values())
