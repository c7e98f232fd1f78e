"""What a missing package is installed by: the way of the environment that the lab runs in."""

from __future__ import annotations

import re
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
PACKAGE = Path(extras.__file__).parent
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
        words = shlex.split(extras.command(name))
        assert words[0] != "pip", words
        assert "sojourn[" not in extras.command(name)
        packages = [word for word in words if ">=" in word]
        extra = extras._EXTRA.get(name, "report")
        assert len(packages) == sum(f"'{extra}'" in one.replace('"', "'") for one in REQUIRES)


def test_pipx_puts_packages_into_its_own_environment(prefix: Path) -> None:
    (prefix / extras.PIPX).touch()
    assert shlex.split(extras.command(extras.WEB)) == ["pipx", "inject", "sojourn", *VIEW]


def test_a_tool_of_uv_and_an_environment_without_pip_are_reached_by_uv(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = str(prefix / "bin/python")
    wanted = ["uv", "pip", "install", "--python", python, *VIEW]
    has_pip(monkeypatch, it_has=False)
    assert shlex.split(extras.command(extras.SERVER)) == wanted
    has_pip(monkeypatch, it_has=True)
    by_pip = [python, "-P", "-m", "pip", "install", *VIEW]
    assert shlex.split(extras.command(extras.SERVER)) == by_pip
    (prefix / extras.UV_TOOL).touch()
    assert shlex.split(extras.command(extras.SERVER)) == wanted


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


def test_a_checkout_has_the_packages_of_its_project_file(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be on the path without metadata, or with those of an older state."""
    has_pip(monkeypatch, it_has=True)
    lines = ('name = "sojourn"', "[project.optional-dependencies]", 'ray = ["ray>=3"]')
    (tmp_path / "pyproject.toml").write_text("\n".join(("[project]", *lines)))
    own = [str(prefix / "bin/python"), "-P", "-m", "pip", "install"]
    assert shlex.split(extras.command(extras.RAY)) == [*own, "ray>=3"]
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "another"\n')
    assert shlex.split(extras.command(extras.RAY)) == [*own, "ray>=2.40,<3"]


@pytest.mark.parametrize("text", [None, "", "[project", '[project]\nname = "sojourn"\n'])
def test_without_any_list_of_its_packages_a_hint_names_the_package_alone(
    prefix: Path, tmp_path: Path, text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_pip(monkeypatch, it_has=True)
    monkeypatch.setattr(metadata, "requires", lambda _: None)
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    own = [str(prefix / "bin/python"), "-P", "-m", "pip", "install"]
    assert shlex.split(extras.command(extras.PICTURES)) == [*own, "vl-convert-python"]
    assert shlex.split(extras.command(extras.SQL)) == [*own, "duckdb"]


#: As tests/install_howto_test.py holds the pages to it.
FROM_INDEX = re.compile(r"\b(?:pip|pipx|uv)\b.*\binstall (?:-\S+ )*['\"]?sojourn(?![\w.-])")


def test_no_text_of_the_package_takes_the_project_from_an_index() -> None:
    """None of it is on PyPI, so the name there is somebody else's."""
    texts = (*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.html"), *PACKAGE.rglob("*.j2"))
    others = [path for path in texts if path != Path(__file__)]
    assert len(others) > 100
    assert [str(path) for path in others if FROM_INDEX.search(path.read_text("utf-8"))] == []
    for line in ("pip install 'sojourn[ray]'", "update: pip install -U sojourn", extras.UPDATE):
        assert bool(FROM_INDEX.search(line)) is (line != extras.UPDATE), line


#: The project with an extra, as if an index had it.
EXTRA = re.compile(r"\bsojourn\[(?:docs|mcp|ray|report|view)\]")


def test_no_reason_to_skip_names_the_project_of_another_index() -> None:
    texts = [*PACKAGE.rglob("*_test.py"), *(PACKAGE.parents[1] / "tests").rglob("*.py")]
    examples = {Path(__file__).name, "install_howto_test.py"}
    others = [path for path in texts if path.name not in examples]
    assert [str(path) for path in others if EXTRA.search(path.read_text("utf-8"))] == []
    assert EXTRA.search("needs sojourn[mcp]")


def test_the_installation_has_its_extras_in_its_metadata() -> None:
    try:
        metadata.requires("sojourn")
    except metadata.PackageNotFoundError:
        pytest.skip("the package is not installed here, only imported")
    assert [one.partition(">")[0] for one in extras._packages("view")] == ["starlette", "uvicorn"]
    assert extras._packages("no such extra") == ()
