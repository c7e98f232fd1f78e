"""Packages that only pages and SQL need; `sojourn[report]` brings them.

vl-convert and DuckDB are as large as all that a measurement needs but numpy, SciPy and Arrow.
"""

from __future__ import annotations

import sys
from importlib import import_module, util
from typing import Any

from sojourn.errors import HostFault

PAGES, SQL = "vl_convert", "duckdb"
FIX = "pip install 'sojourn[report]', into the Python named above"


def is_here(name: str) -> bool:
    """Whether a package is installed; it is not loaded."""
    return util.find_spec(name) is not None


def need(name: str) -> Any:
    """Load a package of these.

    Raises:
        HostFault: it is not installed.
    """
    check(name)
    return import_module(name)


def check(name: str) -> None:
    """Refuse before anything is measured what would lack a package at its end.

    Raises:
        HostFault: it is not installed.
    """
    if not is_here(name):
        what = "pages and figures need" if name == PAGES else "SQL needs"
        raise HostFault(f"{what} the package {name}", at=sys.prefix, fix=FIX)
