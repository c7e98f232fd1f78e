"""What a missing package is installed by: the way of the environment that the lab runs in."""

from __future__ import annotations

import shlex
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import extras
from sojourn.cli import run
from sojourn.errors import HostFault

REQUIRES = [
    "numpy>=2.0",
    "mkdocs-material>=9.6,<10 ; extra == 'docs'",
    "duckdb>=1.1 ; extra == 'report'",
    "vl-convert-python>=1.7 ; extra == 'report'",
    "starlette>=1.0,<2 ; extra == 'view'",
    'uvicorn>=0.30,<1; extra == "view"',
    "mcp>=2.3,<3 ; extra == 'mcp'",
    "ray>=2.40,<3 ; extra == 'ray'",
]
VIEW = ["starlette>=1.0,<2", "uvicorn>=0.30,<1"]
NAMES = (
    extras.PAGES,
    extras.PICTURES,
    extras.SQL,
    extras.WEB,
    extras.SERVER,
    extras.ASSISTANTS,
    extras.RAY,
)


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an environment that has the wheel, and no checkout around it."""
    folder = tmp_path / "venvs" / "sojourn"
    folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(folder))
    monkeypatch.setattr(sys, "executable", str(folder / "bin/python"))
    monkeypatch.setattr(extras, "ROOT", tmp_path)
    monkeypatch.setattr(metadata, "requires", lambda _: REQUIRES)
    return folder


def has_pip(monkeypatch: pytest.MonkeyPatch, *, it_has: bool) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object() if it_has else None)


@pytest.mark.parametrize("mark", [extras.PIPX, extras.UV_TOOL, ""])
@pytest.mark.parametrize("it_has", [True, False])
def test_no_hint_names_the_project_of_another_index(
    prefix: Path, mark: str, *, it_has: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of the project is on PyPI, and the shell's pip may be of another Python."""
    has_pip(monkeypatch, it_has=it_has)
    if mark:
        (prefix / mark).touch()
    for name in NAMES:
        words = shlex.split(extras.fix(name))
        assert words[0] != "pip", words
        assert "sojourn[" not in extras.fix(name)
        packages = [word for word in words if ">=" in word]
        extra = extras._EXTRA.get(name, "report")
        assert len(packages) == sum(f"'{extra}'" in one.replace('"', "'") for one in REQUIRES)


def test_pipx_puts_packages_into_its_own_environment(prefix: Path) -> None:
    (prefix / extras.PIPX).touch()
    assert shlex.split(extras.fix(extras.WEB)) == ["pipx", "inject", "sojourn", *VIEW]


def test_a_tool_of_uv_and_an_environment_without_pip_are_reached_by_uv(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = str(prefix / "bin/python")
    wanted = ["uv", "pip", "install", "--python", python, *VIEW]
    has_pip(monkeypatch, it_has=False)
    assert shlex.split(extras.fix(extras.SERVER)) == wanted
    has_pip(monkeypatch, it_has=True)
    assert shlex.split(extras.fix(extras.SERVER)) == [python, "-P", "-m", "pip", "install", *VIEW]
    (prefix / extras.UV_TOOL).touch()
    assert shlex.split(extras.fix(extras.SERVER)) == wanted


def test_a_missing_package_is_refused_with_the_command_of_this_python(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (prefix / extras.PIPX).touch()
    monkeypatch.setattr(extras, "is_here", lambda _: False)
    with pytest.raises(HostFault, match="`sojourn mcp` needs the package mcp") as refused:
        extras.require(extras.ASSISTANTS)
    assert refused.value.at == str(prefix)
    assert refused.value.fix == "pipx inject sojourn 'mcp>=2.3,<3'"


def test_a_run_without_a_page_names_it_too(
    prefix: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (prefix / extras.PIPX).touch()
    monkeypatch.setattr(extras, "is_here", lambda _: False)
    monkeypatch.setattr(run, "_print_settings", lambda _: None)
    monkeypatch.setenv("COLUMNS", "200")
    done = SimpleNamespace(pages=(), path=tmp_path, findings=SimpleNamespace(verdict="holds"))
    assert run.tell(done, as_json=False) == 0  # type: ignore[arg-type]
    err = " ".join(capsys.readouterr().err.split())
    assert "pipx inject sojourn 'duckdb>=1.1' 'vl-convert-python>=1.7'; then: sojourn report" in err


def test_a_checkout_has_the_extra_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert extras.fix(extras.SQL) == "pip install 'sojourn[report]', into the Python named above"
    assert extras.command(extras.RAY) == "pip install 'sojourn[ray]'"


def test_the_installation_has_its_extras_in_its_metadata() -> None:
    try:
        metadata.requires("sojourn")
    except metadata.PackageNotFoundError:
        pytest.skip("the package is not installed here, only imported")
    assert [one.partition(">")[0] for one in extras._packages("view")] == ["starlette", "uvicorn"]
    assert extras._packages("no such extra") == ()
