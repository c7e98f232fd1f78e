"""Packages that only some commands need; an extra of the installation brings each.

Pictures and SQL take 158 MB, and no measurement needs them. A page needs one script of them. A
release has it in a file; in a checkout vl-convert makes it. What looks at results in a browser, or
answers assistants, brings a server, which a machine that only measures does not want.
"""

from __future__ import annotations

import shlex
import sys
from importlib import import_module, util
from pathlib import Path
from typing import Any

from sojourn.errors import HostFault

PAGES, PICTURES, SQL = "page", "vl_convert", "duckdb"
WEB, SERVER, ASSISTANTS = "starlette", "uvicorn", "mcp"
RAY = "ray"
#: What draws a page's figures; `make build` and a release have it.
SCRIPT = Path(__file__).parent / "report" / "library.json"
#: The root of a checkout; somewhere above the packages of an installation.
ROOT = Path(__file__).parents[2]
#: Files in the folder of an environment that pipx, or `uv tool`, has made.
PIPX, UV_TOOL = "pipx_metadata.json", "uv-receipt.toml"
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
#: Packages that are called otherwise than the module that they bring.
_CALLED = {PAGES: "vl-convert-python", PICTURES: "vl-convert-python"}
#: The fix where another version is needed; no command, because an index has none of ours.
UPDATE = "update sojourn: install the wheel of a newer release; the name on PyPI is another's"


def command(name: str) -> str:
    """The command that installs a package, with the others of its extra, into this Python.

    It names the packages, because the project itself is not on PyPI. The `pip` of a shell may be
    that of another Python, so it is that of this one.
    """
    extra = _EXTRA.get(name, "report")
    packages = _of_checkout(extra) or _packages(extra) or (_CALLED.get(name, name),)
    prefix = Path(sys.prefix)
    is_pipx, is_uv = ((prefix / mark).is_file() for mark in (PIPX, UV_TOOL))
    if is_pipx:
        return shlex.join(("pipx", "inject", prefix.name, *packages))
    has_pip = not is_uv and util.find_spec("pip") is not None
    by_pip = (sys.executable, "-P", "-m", "pip", "install")
    # `uv tool install --with` would drop what was added before, and wants the wheel again.
    by_uv = ("uv", "pip", "install", "--python", sys.executable)
    return shlex.join((*(by_pip if has_pip else by_uv), *packages))


def _packages(extra: str) -> tuple[str, ...]:
    """The packages of an extra with their versions, by the metadata of the installation.

    Returns:
        Such as ("duckdb>=1.1",); () where there is no metadata.
    """
    from importlib import metadata  # noqa: PLC0415  # `--version` goes without

    try:
        requires = metadata.requires("sojourn") or []
    except metadata.PackageNotFoundError:
        return ()
    halves = [one.replace('"', "'").partition(";") for one in requires]
    return tuple(name.strip() for name, _, marker in halves if f"extra == '{extra}'" in marker)


def _of_checkout(extra: str) -> tuple[str, ...]:
    """The same by the project file of a checkout, which may be on the path without metadata.

    Returns:
        () where there is no such file, or none of this project.
    """
    import tomllib  # noqa: PLC0415  # as above

    try:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8")).get("project", {})
    except (OSError, ValueError):
        return ()
    known = project.get("optional-dependencies", {}) if project.get("name") == "sojourn" else {}
    return tuple(known.get(extra, ()))


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
        raise HostFault(f"{_FOR[name]} the package {package}", at=sys.prefix, fix=command(name))
