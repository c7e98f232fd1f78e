"""The report's files: page, text, figures as CSV, and as pictures on request.

Pictures take seconds and most are never opened: the page draws its figures by itself, and saves
each as SVG and PNG.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from sojourn import disk, extras
from sojourn.findings.findings import Findings
from sojourn.report import parts, volume, writers
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
    drawn = html.drawn(findings)
    own = [f for some in drawn.of_services.values() for f in some]
    has_pages = extras.is_here(extras.PAGES)
    paths = [_replace(folder / PAGE, html.with_figures(findings, drawn))] if has_pages else []
    paths.append(_replace(folder / TEXT, text.content(findings)))
    if volume.is_filtered(findings):
        paths.append(_replace(folder / FIGURES / POINTS, csv.content(findings)))
    names = {figure.name for figure in own}
    is_large = volume.is_large(findings)  # pictures would take minutes; the page draws them
    for figure in [*own, *drawn.of_study]:
        is_drawn = has_pages and has_pictures and not (is_large and figure.name in names)
        if not is_drawn:
            _drop_outdated(folder / FIGURES, figure)
        files = pictures(figure) if is_drawn else _numbers(figure)
        for suffix, content in files:
            paths.append(_replace(folder / FIGURES / f"{figure.name}.{suffix}", content))
    return paths


def pictures(figure: Figure) -> Iterator[tuple[str, bytes]]:
    """(suffix, content) of each file of a figure; only the CSV where nothing is drawn."""
    yield from _numbers(figure)
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


def _numbers(figure: Figure) -> Iterator[tuple[str, bytes]]:
    yield "csv", figure.table.csv().encode()


def _drop_outdated(folder: Path, figure: Figure) -> None:
    """Remove pictures of other numbers than the figure has now."""
    with contextlib.suppress(OSError, ValueError):
        before = disk.read_bytes(folder / f"{figure.name}.csv", most=CSV_BYTES)
        if before == figure.table.csv().encode():
            return
    with contextlib.suppress(OSError), disk.folder(folder) as place:
        for suffix in DRAWN:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{figure.name}.{suffix}", dir_fd=place)


def _replace(path: Path, content: bytes) -> Path:
    fix = "make room, or name another folder: `sojourn report --out DIR`"
    return writers.replace(path, content, fix=fix)
