"""The report's files: page, text, figures as CSV, and as pictures on request.

Pictures take seconds and most are never opened: the page draws its figures by itself, and saves
each as SVG and PNG.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from sojourn import disk, extras
from sojourn.findings.findings import Findings
from sojourn.report import figures, page, parts, volume, writers
from sojourn.report.draw import palette
from sojourn.report.draw.figure import WIDTH, Figure, sized, vega_lite
from sojourn.report.draw.print_size import COLUMN_IN, COLUMN_PX, PAGE_IN, for_pdf, in_inches
from sojourn.report.writers import csv, html, text

PAGE = "report.html"
TEXT = "report.txt"
FIGURES = "figures"
POINTS = "points.csv"
PNG_SCALE = 1.5
PRINTED = {"column": COLUMN_IN, "page": PAGE_IN}  # of a paper
DRAWN = ("svg", "pdf", "png", *(f"{name}.{form}" for name in PRINTED for form in ("svg", "pdf")))
CSV_BYTES = 64 * 1024**2


def write(
    findings: Findings, folder: Path, of: parts.Parts, *, has_pictures: bool = False
) -> list[Path]:
    """Write the whole report into `folder`; the page first in the list.

    Where pages cannot be drawn (`extras.PAGES`), there are only text and CSV.

    Can be repeated at any time: each file is replaced at once, so a reader never sees half of one.

    Args:
        findings: what to show.
        folder: into which it is written.
        of: how questions are shown and answered.
        has_pictures: with each figure as SVG, PDF and PNG. Without them those of a report of before
            stay as long as the numbers of their figure do.

    Raises:
        StoreFault: the folder cannot be written.
    """
    with parts.using(of):
        return _write(findings, folder, has_pictures=has_pictures)


def _write(findings: Findings, folder: Path, *, has_pictures: bool) -> list[Path]:
    has_pages = extras.is_here(extras.PAGES)
    is_large = volume.is_large(findings)  # pictures would take minutes; the page draws them
    own: list[Path] = []
    of_services: dict[str, Sequence[Figure]] = {}
    packed: list[str] = []
    with _set_aside():
        for service in findings.services:
            drawn = html.of_service(findings, service)
            for figure in drawn:
                own += _figure(folder, figure, is_drawn=has_pages and has_pictures and not is_large)
            if not is_large:
                of_services[service.service] = drawn
            elif has_pages:  # figures of all combinations would take most of the memory
                packed.append(page.part(service, drawn))
            if is_large:
                del drawn
                gc.collect()  # charts refer to themselves: they would stay for a long time
    of_study = figures.of_study(findings)
    for figure in of_study:
        own += _figure(folder, figure, is_drawn=has_pages and has_pictures)
    whole = []
    if has_pages:
        content = page.html(findings, of_services=of_services, of_study=of_study, packed=packed)
        whole.append(_replace(folder / PAGE, content.encode()))
    whole.append(_replace(folder / TEXT, text.content(findings)))
    if volume.is_filtered(findings):
        whole.append(_replace(folder / FIGURES / POINTS, csv.content(findings)))
    return [*whole, *own]


@contextlib.contextmanager
def _set_aside() -> Iterator[None]:
    """What is there already is not looked through for garbage again for each combination."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _figure(folder: Path, figure: Figure, *, is_drawn: bool) -> Iterator[Path]:
    """Write a figure's own files."""
    if is_drawn:
        files = pictures(figure)
    else:
        content = figure.table.csv().encode()
        _drop_outdated(folder / FIGURES, figure.name, content)
        files = iter([("csv", content)])
    for suffix, content in files:
        yield _replace(folder / FIGURES / f"{figure.name}.{suffix}", content)


def pictures(figure: Figure) -> Iterator[tuple[str, bytes]]:
    """(suffix, content) of each file of a figure; only the CSV where nothing is drawn."""
    yield "csv", figure.table.csv().encode()
    if figure.chart is None:
        return
    spec, narrow = (
        json.dumps(palette.resolve(sized(figure.chart, width))) for width in (WIDTH, COLUMN_PX)
    )
    vl_convert = extras.need(extras.PICTURES)  # it brings a JavaScript engine: 100 MB
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=vega_lite())
    yield "svg", svg.encode()
    yield "pdf", vl_convert.svg_to_pdf(svg)
    yield "png", vl_convert.svg_to_png(svg, scale=PNG_SCALE)
    column: str = vl_convert.vegalite_to_svg(narrow, vl_version=vega_lite())
    for name, drawn in (("column", column), ("page", svg)):
        yield f"{name}.svg", in_inches(drawn, PRINTED[name]).encode()
        yield f"{name}.pdf", vl_convert.svg_to_pdf(for_pdf(drawn, PRINTED[name]))


def _drop_outdated(folder: Path, name: str, numbers: bytes) -> None:
    """Remove pictures of other numbers than a figure has now."""
    with contextlib.suppress(OSError, ValueError):
        if disk.read_bytes(folder / f"{name}.csv", most=CSV_BYTES) == numbers:
            return
    with contextlib.suppress(OSError), disk.folder(folder) as place:
        for suffix in DRAWN:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{name}.{suffix}", dir_fd=place)


def _replace(path: Path, content: bytes) -> Path:
    fix = "make room, or name another folder: `sojourn report --out DIR`"
    return writers.replace(path, content, fix=fix)
