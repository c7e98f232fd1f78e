"""Packages that only pictures and SQL need; `sojourn[report]` brings them.

They take 158 MB, and no measurement needs them. A page needs one script of them. A release has it
in a file; in a checkout vl-convert makes it.
"""

from __future__ import annotations

import sys
from importlib import import_module, util
from pathlib import Path
from typing import Any

from sojourn.errors import HostFault

PAGES, PICTURES, SQL = "page", "vl_convert", "duckdb"
#: What draws a page's figures; only a release has it.
SCRIPT = Path(__file__).parent / "report" / "library.json"
FIX = "pip install 'sojourn[report]', into the Python named above"
_FOR = {PAGES: "pages need", PICTURES: "pictures need", SQL: "SQL needs"}


def is_here(name: str) -> bool:
    """Whether a package is installed, or pages can be written; it is not loaded."""
    if name == PAGES:
        return SCRIPT.exists() or is_here(PICTURES)
    return util.find_spec(name) is not None


def need(name: str) -> Any:
    """Load a package of these.

    Raises:
        HostFault: it is not installed.
    """
    require(name)
    return import_module(name)


def require(name: str) -> None:
    """Refuse before anything is measured what would lack a package at its end.

    Raises:
        HostFault: it is not installed.
    """
    if not is_here(name):
        package = PICTURES if name == PAGES else name
        raise HostFault(f"{_FOR[name]} the package {package}", at=sys.prefix, fix=FIX)
