"""The script that draws a page's figures: Vega, Vega-Lite, Vega-Embed.

vl-convert ships it in parts, 0.9 MB; to put them together takes a second, and the same parts give
the same script. So a release has it in a file, packed, and so has a checkout that was built. A
checkout that was not built stores it in the user's cache.
"""

from __future__ import annotations

import functools
import json
from importlib.metadata import version
from pathlib import Path

from sojourn import extras
from sojourn.disk import cache
from sojourn.report import pack, policies
from sojourn.report.draw.figure import vega_lite

_GLOBALS = "window.vegaEmbed = vegaEmbed;"


def packed() -> str:
    """The script as the page has it, packed."""
    return _known()[0]


def digest() -> str:
    """By which a page's policy knows the script."""
    return _known()[1]


def ship(path: Path) -> None:
    """Write the script for a release, whose users then need no vl-convert for pages."""
    path.write_text(json.dumps([_of(), *_made()]), encoding="ascii")


def _of() -> str:
    return f"{vega_lite()} {_GLOBALS}"


@functools.cache
def _known() -> tuple[str, str]:
    if extras.SCRIPT.exists():
        of, script, known_by = json.loads(extras.SCRIPT.read_text("ascii"))
        if of == _of():
            return str(script), str(known_by)
    extras.require(extras.PICTURES)
    key = f"library {version('vl-convert-python')} {_of()}"
    if (text := cache.load(key)) is not None:
        script, known_by = json.loads(text)
        return str(script), str(known_by)
    made = _made()
    cache.keep(key, json.dumps(made).encode())
    return made


def _made() -> tuple[str, str]:
    vl_convert = extras.need(extras.PICTURES)  # it brings a JavaScript engine: 100 MB
    script: str = vl_convert.javascript_bundle(_GLOBALS, vl_version=vega_lite())
    return pack.packed(script), policies.digest_of(script)
