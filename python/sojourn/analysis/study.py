"""A study's findings: arrays in, everything the report shows out. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.analysis import answer, breakdown, oracle, service
from sojourn.analysis.data import StudyData
from sojourn.analysis.findings import CheckRow, Findings, ServiceFinding
from sojourn.plan.points import Verdict
from sojourn.spec import ServiceSpec


def study(given: StudyData) -> Findings:
    """What a study found.

    Args:
        given: the study and its points; an unfinished one gives `unknown` where it stops.
    """
    asked = given.study.services
    checks = _checks(given)
    services = tuple(_service(given, spec) for spec in asked if not _is_oracle(spec))
    verdicts = [s.verdict for s in services] + [row.verdict for row in checks]
    reasons = [f"{s.service}: {reason}" for s in services for reason in s.reasons]
    return Findings(
        study=given.study.name,
        question=given.study.question,
        answer=" ".join(
            [*(_headline(s, given.workers.get(s.service)) for s in services), *_words(checks)]
        ),
        verdict=_worst(verdicts),
        reasons=(*given.reasons, *reasons, *_doubts(checks)),
        started=given.started,
        wall_s=given.wall_s,
        services=services,
        checks=checks,
        environment=given.environment,
        noise=given.noise,
        study_file=given.study_file,
        command=given.command,
    )


def _is_oracle(spec: ServiceSpec) -> bool:
    """Whether it is held against theory, and so a row of checks rather than a service."""
    return spec.check is not None and "check" in spec.measure and spec.check.system != "null"


def _service(given: StudyData, spec: ServiceSpec) -> ServiceFinding:
    if "check" in spec.measure:
        return service.null(given, spec)
    return breakdown.attach(service.find(given, spec), given, spec)


def _headline(found: ServiceFinding, workers: int | None) -> str:
    """One service in a sentence; a breakdown alone has its own."""
    if found.breakdown is not None and not found.points and found.max_load is None:
        return found.breakdown.answer
    return answer.headline(found, workers)


def _checks(given: StudyData) -> tuple[CheckRow, ...]:
    systems = [
        (s.check, given.of(s.label)) for s in given.study.services if _is_oracle(s) and s.check
    ]
    count = oracle.comparisons([check for check, _ in systems])
    fixed = next((oracle.path_ns(*s) for s in systems if s[0].system == "M/D/1"), None)
    return tuple(
        row
        for check, measured in systems
        for row in oracle.rows(
            check, measured, count, oracle.path_ns(check, measured) if fixed is None else fixed
        )
    )


def _words(checks: Sequence[CheckRow]) -> list[str]:
    """The selfcheck's answer, in a sentence."""
    compared = [row for row in checks if row.theory_ns > 0]
    if not compared:
        return []
    held = sum(row.verdict is Verdict.HOLDS for row in compared)
    wrong = [row for row in compared if row.verdict is Verdict.VIOLATED]
    text = (
        f"{held} of {len(compared)} quantities of the ideal queues were measured as theory has them"
    )
    if wrong:
        names = ", ".join(f"{row.quantity} of {row.system} at ρ = {row.rho:g}" for row in wrong)
        text += f"; not so: {names}"
    unknown = len(compared) - held - len(wrong)
    if unknown:
        text += f"; {unknown} could not be told"
    return [text + "."]


def _doubts(checks: Sequence[CheckRow]) -> tuple[str, ...]:
    return tuple(
        f"{row.system} ρ = {row.rho:g} {row.quantity}: {row.reasons[0]}"
        for row in checks
        if row.verdict is not Verdict.HOLDS and row.reasons
    )


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    """`unknown` beats `violated` beats `holds`; nothing measured is unknown."""
    for verdict in (Verdict.UNKNOWN, Verdict.VIOLATED):
        if verdict in verdicts:
            return verdict
    return Verdict.HOLDS if verdicts else Verdict.UNKNOWN
