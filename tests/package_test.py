"""What is given to others: one version, pages for each program, and what pip installs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

from sojourn import built, extras
from sojourn.cli.app import app, main

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python")}


def options(command: object) -> set[str]:
    """Long options of a command that help shows."""
    params = [param for param in command.params if not getattr(param, "hidden", False)]
    return {name for param in params for name in param.opts if name.startswith("--")}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    command = [sys.executable, str(ROOT / "scripts/pages.py"), str(folder)]
    subprocess.run(command, check=True, env=ENVIRONMENT, timeout=120)
    return folder


def test_the_manual_has_every_command_with_each_of_its_options(pages: Path) -> None:
    manual = (pages / "man/man1/sojourn.1").read_text().replace("\\", "")
    chapters = dict(re.findall(r'^\.SS "(.*)"\n((?:(?!\.SS).*\n)*)', manual, re.MULTILINE))
    top = typer.main.get_command(app)
    assert len(chapters) >= len(top.commands) > 15
    for name, command in top.commands.items():
        assert all(option in chapters[f"sojourn {name}"] for option in options(command)), name


@pytest.mark.skipif(shutil.which("man") is None, reason="no man")
def test_the_manual_is_roff_without_a_mistake(pages: Path) -> None:
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", str(pages / "man/man1/sojourn.1")],
        env={**os.environ, "MANROFFSEQ": "", "MANWIDTH": "80"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert "sojourn try http://localhost:8080/" in done.stdout


def test_each_shell_is_told_to_ask_sojourn(pages: Path) -> None:
    script = pages / "bash-completion/completions/sojourn"
    subprocess.run(["bash", "-n", script], check=True, timeout=10)
    for shell, place in (
        ("bash", "bash-completion/completions/sojourn"),
        ("zsh", "zsh/site-functions/_sojourn"),
        ("fish", "fish/vendor_completions.d/sojourn.fish"),
    ):
        assert f"_SOJOURN_COMPLETE=complete_{shell}" in (pages / place).read_text()


def versions(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(folder / "scripts/package"), "--versions"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)


def test_a_release_has_one_version(tmp_path: Path) -> None:
    assert versions(ROOT).returncode == 0
    names = ("Cargo.toml", "pyproject.toml", "CITATION.cff", "CHANGELOG.md")
    for name in (*names, "python/sojourn/__init__.py", "scripts/package"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert versions(tmp_path).returncode == 0
    cited = tmp_path / "CITATION.cff"
    cited.write_text(cited.read_text().replace("\nversion: ", "\nversion: 9"))
    done = versions(tmp_path)
    assert (done.returncode, "CITATION.cff does not say" in done.stderr) == (2, True)


def test_the_version_names_the_commit_that_is_checked_out(tmp_path: Path) -> None:
    made = tmp_path / "python/sojourn"
    made.mkdir(parents=True)
    (tmp_path / "Cargo.toml").touch()
    git = tmp_path / ".git"
    (git / "refs/heads").mkdir(parents=True)
    sha = "0123456789abcdef" * 2
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text(f"# pack-refs\n{sha} refs/heads/main\n")
    assert built._checked_out(tmp_path) == sha
    (git / "refs/heads/main").write_text(sha[::-1] + "\n")
    assert built._checked_out(tmp_path) == sha[::-1]
    tree = tmp_path / "tree"
    (git / "worktrees/tree").mkdir(parents=True)
    (git / "worktrees/tree/HEAD").write_text(sha + "\n")
    (git / "worktrees/tree/commondir").write_text("../..\n")
    tree.mkdir()
    (tree / "Cargo.toml").touch()
    (tree / ".git").write_text(f"gitdir: {git}/worktrees/tree\n")
    assert built._checked_out(tree) == sha


@pytest.mark.parametrize(
    "arguments",
    [
        ("sql", "select 1"),
        ("report",),
        ("show", "--export", "html=x.html"),
        ("replicate", "L18", "--report", "x.html"),
        ("run", "--all"),
        ("run", "selfcheck", "--export", "html=x.html"),
    ],
    ids=" ".join,
)
def test_what_needs_the_extra_packages_names_them_before_it_begins(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(extras, "is_here", lambda _: False)
    assert main([*arguments]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "'duckdb>=1.1' 'vl-convert-python>=1.7'" in err
    assert not list(tmp_path.iterdir())


def test_nothing_loads_them_with_a_module() -> None:
    paths = (ROOT / "python/sojourn").rglob("*.py")
    texts = {path: path.read_text() for path in paths if not path.stem.endswith("_test")}
    for names, own in (
        ("duckdb|vl_convert", ""),
        ("starlette|uvicorn", "view"),
        ("mcp", "assistant"),
    ):
        eager = re.compile(rf"^(?:import|from) (?:{names})\b", re.MULTILINE)
        others = {path: text for path, text in texts.items() if path.parent.name != own}
        assert len(others) > 100
        assert not [str(path) for path, text in others.items() if eager.search(text)]


def test_the_extra_packages_are_those_that_the_code_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {re.split(r"[<>=]", one)[0] for one in project["optional-dependencies"]["report"]}
    assert named == {"duckdb", "vl-convert-python"}
    for extra, asked in (("view", {extras.WEB, extras.SERVER}), ("mcp", {extras.ASSISTANTS})):
        packages = project["optional-dependencies"][extra]
        assert {re.split(r"[<>=]", one)[0] for one in packages} == asked
    assert not named & {re.split(r"[<>=]", one)[0] for one in project["dependencies"]}


def test_the_bill_of_materials_is_of_the_version_that_is_built() -> None:
    command = [sys.executable, str(ROOT / "scripts/sbom.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    bill = json.loads(done.stdout)
    table = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["version"] == table["version"]


def test_pages_that_messages_name_are_in_the_wheel(tmp_path: Path) -> None:
    """Whoever has the wheel alone has no `docs` of a checkout."""
    take = 'source <(sed -n "/^docs_into()/,/^}/p" scripts/package) && docs_into . "$1"'
    subprocess.run(["bash", "-ec", take, "bash", tmp_path], cwd=ROOT, check=True, timeout=60)
    assert "docs_into" in (ROOT / "scripts/package").read_text().partition("\nwheel()")[2]
    texts = [path.read_text() for path in (ROOT / "python/sojourn").rglob("*.py")]
    named = set(re.findall(r"docs/[\w/-]+\.md", "\n".join(texts)))
    assert len(named) > 5
    lacking = [name for name in sorted(named) if not (tmp_path / name).is_file()]
    assert not lacking
    links = re.findall(r"\]\(((?!https?:)[^)#]+)", (tmp_path / "README.md").read_text())
    assert not [link for link in links if not (tmp_path / link).exists()]
