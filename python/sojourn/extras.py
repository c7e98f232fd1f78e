"""Packages that only some commands need; an extra of the installation brings each.

Pictures and SQL take 158 MB, and no measurement needs them. A page needs one script of them. A
release has it in a file; in a checkout vl-convert makes it. What looks at results in a browser, or
answers assistants, brings a server, which a machine that only measures does not want.
"""

from __future__ import annotations

import sys
from importlib import import_module, util
from pathlib import Path
from typing import Any

from sojourn.errors import HostFault

PAGES, PICTURES, SQL = "page", "vl_convert", "duckdb"
WEB, SERVER, ASSISTANTS = "starlette", "uvicorn", "mcp"
RAY = "ray"
#: What draws a page's figures; only a release has it.
SCRIPT = Path(__file__).parent / "report" / "library.json"
_FOR = {
    PAGES: "pages need",
    PICTURES: "pictures need",
    SQL: "SQL needs",
    WEB: "`sojourn view` needs",
    SERVER: "`sojourn view` needs",
    ASSISTANTS: "`sojourn mcp` needs",
    RAY: "[hosts] needs",
}
_EXTRA = {WEB: "view", SERVER: "view", ASSISTANTS: "mcp", RAY: "ray"}


def fix(name: str) -> str:
    """How a package is installed.

    >>> fix(SQL)
    "pip install 'sojourn[report]', into the Python named above"
    """
    return f"pip install 'sojourn[{_EXTRA.get(name, 'report')}]', into the Python named above"


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
        raise HostFault(f"{_FOR[name]} the package {package}", at=sys.prefix, fix=fix(name))
