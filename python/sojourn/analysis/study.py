"""A study's findings: arrays in, everything the report shows out. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sojourn.analysis import factors, more, service, state
from sojourn.analysis.answer_kind import Answers
from sojourn.analysis.combinations import Part, parts
from sojourn.findings import point_row
from sojourn.findings.findings import Findings, ServiceFinding, State
from sojourn.findings.measured import StudyData
from sojourn.findings.section import Section
from sojourn.host.shared import KINDS_OF_CPU
from sojourn.plan.left_out import GIVEN_UP, SKIPPED
from sojourn.plan.points import worst
from sojourn.plan.setting import NEIGHBOUR
from sojourn.plan.traced import NOBODY
from sojourn.spec import ServiceSpec

GROUPS = "groups"  # of a run's facts
NAMED_MAX = 3  # combinations in the answer; the report has all


def study(given: StudyData, answers: Answers) -> Findings:
    """What a study found.

    Args:
        given: the study and its points; an unfinished one gives `unknown` where it stops.
        answers: how each question is answered.
    """
    asked = [part for part in parts(given) if not _is_part(part.spec, answers)]
    services = tuple(
        replace(
            service.find(part.given, part.spec, answers),
            service=part.title,
            label=part.spec.label,
            levels=part.levels.levels,
        )
        for part in asked
    )
    effects = factors.effects(given.study, asked, services)
    whole = (
        (kind.name, kind.whole(given) or kind.compared(given, asked, services))
        for kind in answers.values()
    )
    sections = {name: section for name, section in whole if section}
    workers = [part.given.workers.get(part.spec.label) for part in asked]
    said = [section.headline for section in sections.values() if section.leads]
    said += [factor.sentence for factor in effects]
    said += _headlines(services, [*map(service.headline, services, workers)])
    said += [section.headline for section in sections.values() if not section.leads]
    said += [_grouped(given, services), _missing(given)]
    verdicts = [s.verdict for s in services]
    verdicts += [section.verdict for section in sections.values() if section.verdict]
    reasons = [f"{s.service}: {reason}" for s in services for reason in s.reasons]
    reasons += [reason for section in sections.values() for reason in section.reasons]
    reasons += unlike_cpus(asked)
    found = Findings(
        study=given.study.name,
        question=given.study.question,
        answer=" ".join(filter(None, said)),
        verdict=worst(verdicts),
        reasons=(*given.reasons, *reasons),
        started=given.started,
        wall_s=given.wall_s,
        services=services,
        sections=sections,
        factors=effects,
        environment=given.environment,
        noise=given.noise,
        study_file=given.study_file,
        command=given.command,
        left_out=given.left_out,
        unanswered=tuple(_unanswered(given, asked, services, sections)),
        points=point_row.rows(
            given.study,
            (one.outcome for one in given.measured),
            {run.key: run for s in services for point in s.points for run in point.runs},
        ),
    )
    return _with_state(given, found, answers)


def _unanswered(
    given: StudyData,
    asked: Sequence[Part],
    services: Sequence[ServiceFinding],
    sections: Mapping[str, Section],
) -> Iterator[str]:
    """Questions that the study asks and that gave no section, for each service that lacks it."""
    for kind in given.questions.values():
        if kind.name in sections:
            continue
        if kind.members(given.study):
            yield kind.name
            continue
        for part, found in zip(asked, services, strict=True):
            if kind.is_asked(part.given.study, part.spec) and kind.name not in found.sections:
                yield kind.name


def _with_state(given: StudyData, found: Findings, answers: Answers) -> Findings:
    """How far its question is answered, and what would settle what is open."""
    who, whole = state.leading(found, answers)
    is_done = bool(whole.of) and whole.done == whole.of
    settle = None if is_done else more.settle(given, found, who)
    return replace(found, state=State(done=whole.done, of=whole.of, unit=whole.unit, settle=settle))


def _headlines(services: Sequence[ServiceFinding], said: Sequence[str]) -> list[str]:
    """The sentence of each combination, those that are alike once, what is unknown last.

    >>> _headlines((), ())
    []
    """
    whose: dict[tuple[str, str], list[str]] = defaultdict(list)
    for found, sentence in zip(services, said, strict=True):
        whose[found.label, sentence].append(found.service.removeprefix(f"{found.label}, "))
    alike = sorted(whose.items(), key=lambda one: one[0][1].startswith("Whether"))
    every = Counter(found.label for found in services)
    return [_under(titles, every[label], text) for (label, text), titles in alike if text]


def _under(titles: Sequence[str], of: int, said: str) -> str:
    """The sentence, with the combinations that it is of.

    >>> _under(["threads = 1", "threads = 2"], 3, "Whether it holds is unknown.")
    'With threads = 1 or threads = 2: whether it holds is unknown.'
    """
    if of == 1:
        return said
    under = f"With {' or '.join(titles)}"
    if len(titles) == of:
        under = f"Under all {of} combinations"
    elif len(titles) > NAMED_MAX:
        under = f"Under {len(titles)} of {of} combinations"
    return f"{under}: {said[0].lower()}{said[1:]}"


def _grouped(given: StudyData, services: Sequence[ServiceFinding]) -> str:
    """How tasks were grouped, of a study about what others do to a service; "" of any other."""
    study = given.study
    is_beside = study.neighbour != NOBODY or NEIGHBOUR in study.factors or GROUPS in study.factors
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
        kinds[label].add(part.given.cpu_kinds.get(label, frozenset()))
        texts[label][dict(part.given.setups.get(label, ())).get(KINDS_OF_CPU, "")] = None
    return [
        f"{label}: combinations ran on unlike CPUs, so a difference between them may be that of "
        f"the CPUs: {'; or '.join(filter(None, texts[label]))}"
        for label, of in kinds.items()
        if len(of) > 1
    ]


def _missing(given: StudyData) -> str:
    """Which combinations have no answer, as a sentence; "" if all have that the design has."""
    said = []
    for how in (SKIPPED, GIVEN_UP):
        mine = [one for one in given.left_out if one.state == how]
        named = ", ".join(one.who for one in mine[:NAMED_MAX])
        more = f" and {len(mine) - NAMED_MAX} more" if len(mine) > NAMED_MAX else ""
        said += [f"{how}: {named}{more}"] if mine else []
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _is_part(spec: ServiceSpec, answers: Answers) -> bool:
    """Whether a question takes the service for all it says of the study, not by itself."""
    return any(kind.name in spec.measure and kind.is_part(spec) for kind in answers.values())
