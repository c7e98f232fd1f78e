"""Templates to pages; each text is escaped, and what would turn others is spelled."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

import sojourn
from sojourn import units
from sojourn.browse import choose, curves
from sojourn.report import policies, show
from sojourn.report.draw import palette
from sojourn.store.named import began
from sojourn.view import links
from sojourn.visible import visible

OWN = Path(__file__).parent / "templates"
OF_REPORTS = Path(__file__).parents[1] / "report" / "templates"
SCRIPT = "view.js"
STYLES = (OF_REPORTS / "style.css", OWN / "view.css")


def page(template: str, *, status: int = 200, **values: object) -> HTMLResponse:
    """A whole page, which may run the view's own script and ask this server."""
    text = fragment(template, **values)
    return HTMLResponse(text, status, {"Content-Security-Policy": policy()})


def fragment(template: str, **values: object) -> str:
    """A part of a page.

    Raises:
        ValueError: a value has the name of something that all templates share.
    """
    if taken := values.keys() & _shared().keys():
        raise ValueError(f"all templates have their own {', '.join(sorted(taken))}")
    return _templates().get_template(template).render(**values)


@functools.cache
def policy() -> str:
    """What the view's pages may do."""
    rules = policies.allowing(
        [policies.digest_of(script())],
        styles=[policies.digest_of(style())],
        own=("connect-src", "form-action", "frame-src"),
    )
    return f"{rules}; frame-ancestors 'self'"  # the page of an error may be where a report is


@functools.cache
def script() -> str:
    """Text of the view's own script."""
    return (OWN / SCRIPT).read_text("utf-8")


@functools.cache
def style() -> str:
    """The style sheet: colours of both themes, that of reports, and the view's own."""
    light, dark = (palette.style(palette.THEMES[name]) for name in ("light", "dark"))
    colours = f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
    return colours + "".join(path.read_text("utf-8") for path in STYLES)


@functools.cache
def _shared() -> dict[str, Any]:
    """What every template may use."""
    return {
        "script": Markup(script()),  # noqa: S704 - the package's own
        "style": Markup(style()),  # noqa: S704 - the package's own
        "units": units,
        "links": links,
        "choose": choose,
        "utc": utc,
        "time": show.time,
        "cell": curves.cell,
        "version": sojourn.__version__,
    }


@functools.cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(OWN),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= _shared()
    return environment


def utc(time: str) -> str:
    """A record's time or day to the minute, as people read it; "" if it is unknown.

    >>> utc("2026-11-23T03:12:48+00:00"), utc("2026-11-23"), utc("")
    ('2026-11-23 03:12 UTC', '2026-11-23 UTC', '')
    >>> utc("2026-02-01T01:00:00+02:00")
    '2026-01-31 23:00 UTC'
    """
    at = began("", time) if "T" in time else ""
    text = f"{at[:4]}-{at[4:6]}-{at[6:8]} {at[9:11]}:{at[11:13]}" if at else time[:16]
    return f"{text.replace('T', ' ')} UTC" if text else ""


def _shown(value: object) -> object:
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return visible(str(value)) if is_text else value
