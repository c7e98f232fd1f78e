"""One self-contained HTML page: the answer first, then what it rests on. Nothing is fetched."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    FunctionLoader,
    StrictUndefined,
)
from markupsafe import Markup, escape

import sojourn
from sojourn import units
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.report import (
    crowd,
    disturbed,
    doubts,
    explore,
    factor_words,
    factors,
    facts,
    headline,
    labels,
    library,
    not_measured,
    openings,
    pack,
    parts,
    people,
    platforms,
    policies,
    resources,
    show,
    state,
    tiles,
    verdict_of_all,
    volume,
)
from sojourn.report.draw import palette
from sojourn.report.draw.figure import Figure, Spec, unchecked, vega_lite
from sojourn.report.draw.lookup import slug
from sojourn.report.openings.opening import HEADLINE_MAX
from sojourn.text import numbers as words
from sojourn.visible import visible

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("page.js", "explore.js")
CSV_ROWS = 5_000  # of a figure's CSV in the page; a longer one lies beside it
ROWS = 60  # of a figure's table on the page; the CSV has all


def html(
    findings: Findings,
    *,
    of_services: Mapping[str, Sequence[Figure]],
    of_study: Sequence[Figure],
    packed: Sequence[str] = (),
) -> str:
    """The page.

    Args:
        findings: what to show.
        of_services: figures by service label; of a large study not those that `packed` has.
        of_study: figures about the study as a whole.
        packed: of a large study each service's `part`, in order.
    """
    large = volume.is_large(findings)
    own = [] if large else [figure for some in of_services.values() for figure in some]
    opening = openings.of(findings)
    drawn = {f.name: f for f in (*of_study, *own) if f.chart}
    with unchecked():
        explored = explore.of(findings) if volume.is_filtered(findings) else None
    return rendered(
        "page.html.j2",
        [*of_study, *own],
        findings=findings,
        opening=opening,
        title=title(findings.study, opening.headline),
        first=[drawn[name] for name in opening.figures if name in drawn],
        state=state.state_line(findings),
        doubted=doubts.reasons(findings),
        of_services=of_services,
        of_study=of_study,
        large=large,
        crowds=crowd.of(findings) if volume.is_crowded(findings) else (),
        parts=packed or [part(s, of_services[s.service]) for s in findings.services if large],
        explored=explored,
        choices=_trusted(_script_json(_choices(explored))) if explored else "",
    )


def title(study: str, headline: str) -> str:
    """The headline with the study's name before it, if both fit.

    >>> title("selfcheck", "36 of 36 as theory has it")
    'selfcheck: 36 of 36 as theory has it'
    """
    whole = f"{study}: {headline}"
    return whole if len(whole) <= HEADLINE_MAX else headline


def part(service: ServiceFinding, figures: Sequence[Figure]) -> str:
    """A service or combination as the page has it when it is opened, packed."""
    template = _templates().get_template("service.html.j2")
    section = template.render(service=service, of_services={service.service: figures}, large=True)
    drawn = {f.name: _payload(f, has_csv=False) for f in figures if f.chart}
    return pack.packed({"html": section, "figures": drawn})


def _choices(explored: explore.Explored) -> dict[str, object]:
    """What the page's filters have to know before any point is unpacked."""
    return {
        "choices": [
            {"key": choice.key, "name": choice.name, "levels": choice.levels}
            for choice in explored.choices
        ],
        "charts": explored.charts,
    }


def rendered(template: str, figures: Sequence[Figure], /, **values: object) -> str:
    """A page of this look: its template with figures, colours, the library, and `values`."""
    return (
        _templates()
        .get_template(template)
        .render(
            payload=_trusted(pack.packed({f.name: _payload(f) for f in figures if f.chart})),
            library=_trusted(library.packed()),
            policy=policy(),
            light=_trusted(palette.style(palette.THEMES["light"])),
            dark=_trusted(palette.style(palette.THEMES["dark"])),
            version=sojourn.__version__,
            vega_lite=vega_lite(),
            **values,
        )
    )


@functools.cache
def policy() -> str:
    """What a page may do: run the lab's own scripts, each known by its hash, and fetch nothing."""
    own = ((TEMPLATES / name).read_text("utf-8") for name in SCRIPTS)
    return policies.allowing((library.digest(), *map(policies.digest_of, own)))


@functools.cache
def _templates() -> Environment:
    """The templates with the words that they use; a missing name is an error, never a blank."""
    environment = Environment(
        loader=ChoiceLoader([FileSystemLoader(TEMPLATES), FunctionLoader(_of_question)]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        extensions=["jinja2.ext.do"],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "show": show,
        "units": units,
        "disturbed": disturbed,
        "people": people,
        "verdict_of_all": verdict_of_all,
        "labels": labels,
        "sections": parts.sections,
        "percent": words.percent,
        "facts": facts.of_service,
        "resources": resources,
        "effects": factors.rows,
        "factor_words": factor_words.sentences,
        "platforms": platforms,
        "tiles": tiles,
        "headline": headline,
        "not_measured": not_measured,
        "slug": slug,
        "rows": ROWS,
        "is_nested": lambda value: isinstance(value, Mapping),
    }
    environment.filters["coded"] = coded
    environment.filters["raw_file"] = lambda name: _trusted((TEMPLATES / name).read_text("utf-8"))
    return environment


def _of_question(name: str) -> str | None:
    """The text of a template that is in a question's folder, `NAME/FILE`; None: there is none."""
    of, _, file = name.partition("/")
    folders = (one.folder for one in parts.sections() if one.name == of)
    path = next((folder / file for folder in folders), None)
    return path.read_text("utf-8") if path and path.exists() else None


def shown(value: object) -> object:
    """A text as the page may have it: marks of direction would show a command as another one."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def coded(text: str) -> Markup:
    """A sentence in which what is between backticks is code."""
    parts = map(escape, visible(text).split("`"))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts)
    )


def _trusted(own: str) -> Markup:
    """Text that this package wrote or escaped itself; never anything from a study."""
    return Markup(own)  # noqa: S704 - see above


def _payload(figure: Figure, *, has_csv: bool = True) -> dict[str, object]:
    has_csv = has_csv and len(figure.table.rows) <= CSV_ROWS
    return {
        "spec": _by_column(figure.chart or {}),
        "csv": figure.table.csv() if has_csv else None,
        "panel": figure.facet_min,
        "panels": figure.panels,
    }


def _by_column(chart: Spec) -> Spec:
    """The specification, its rows column by column."""
    datasets = cast("Mapping[str, Sequence[Mapping[str, object]]]", chart.get("datasets", {}))
    return {**chart, "datasets": {name: pack.columns(rows) for name, rows in datasets.items()}}


def _script_json(value: object) -> str:
    """JSON that cannot end the script element it is in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
