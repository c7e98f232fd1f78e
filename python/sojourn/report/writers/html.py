"""The page: one file with every figure in it, which needs no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sojourn import extras
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.report import figures, page, volume
from sojourn.report.draw.figure import Figure
from sojourn.report.writers.writer import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The figures of a report.

    Attributes:
        of_services: by service label.
        of_study: about the study as a whole.
    """

    of_services: Mapping[str, Sequence[Figure]]
    of_study: Sequence[Figure]


def drawn(findings: Findings) -> Drawn:
    """Every figure of services and study."""
    return Drawn(
        of_services={s.service: of_service(findings, s) for s in findings.services},
        of_study=figures.of_study(findings),
    )


def of_service(findings: Findings, service: ServiceFinding) -> Sequence[Figure]:
    """Every figure of one of the services."""
    return figures.of_service(service, is_crowded=volume.is_crowded(findings))


def content(findings: Findings) -> bytes:
    """The page with all its figures."""
    packed = []
    if volume.is_large(findings):  # figures of all combinations would take most of the memory
        packed = [page.part(s, of_service(findings, s)) for s in findings.services]
    own = {} if packed else drawn(findings).of_services
    of_study = figures.of_study(findings)
    return page.html(findings, of_services=own, of_study=of_study, packed=packed).encode()


WRITER = Writer(
    name="html",
    about="the report's page, with every figure",
    content=content,
    needs=extras.PAGES,
)
