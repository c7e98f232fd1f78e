"""All findings as one JSON document, in the form of `schema/findings.json`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from sojourn.analysis.answer_kind import Answers
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.report import parts
from sojourn.report.writers.writer import Writer
from sojourn.text.plain_values import document


def table(findings: Findings, answers: Answers) -> dict[str, object]:
    """Findings as their JSON has them: each question's part beside what is common."""
    whole: dict[str, object] = {
        **_common(findings),
        "services": [_of_service(service, answers) for service in findings.services],
    }
    for kind in answers.values():
        whole |= kind.study_json(findings.sections.get(kind.name))
    return whole


def dumps(value: Any) -> str:
    """A document as it is printed and written."""
    return document(value)


def content(findings: Findings) -> bytes:
    """The document, one key a line."""
    return f"{dumps(table(findings, parts.answers()))}\n".encode(errors="backslashreplace")


def _of_service(finding: ServiceFinding, answers: Answers) -> dict[str, object]:
    whole = _common(finding)
    for kind in answers.values():
        whole |= kind.service_json(finding.sections.get(kind.name))
    return whole


def _common(result: Findings | ServiceFinding) -> dict[str, object]:
    names = (field.name for field in fields(result))
    return {name: getattr(result, name) for name in names if name != "sections"}


WRITER = Writer(name="json", about="all findings, as `--json` prints them", content=content)
