"""The wheel's Python part, as maturin chooses its files, in an environment of its own.

The native programs are not built anew: `scripts/package wheel` does that, and `scripts/installed`
uses them. Here a program that does nothing represents them, beside the launcher of `make build`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from sojourn import __version__

ROOT = Path(__file__).parents[1]
LAUNCHER, MATURIN = (Path(sys.executable).with_name(name) for name in ("sojourn", "maturin"))
OF_TESTS = re.compile(r"(_test|_testing|/testing[^/]*)\.py$|/golden/|/__pycache__/")
CRATE = """
[package]
name = "sojourn-tools"
version = "{version}"
edition = "2021"
[[bin]]
name = "sojourn-load"
path = "main.rs"
[workspace]
"""

pytestmark = [
    pytest.mark.skipif(not MATURIN.exists(), reason="needs maturin, which make setup installs"),
    pytest.mark.skipif(not shutil.which("cargo"), reason="needs cargo, which maturin calls"),
]


def run(*words: str | Path, at: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=at,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of this source, but with one empty program."""
    folder = tmp_path_factory.mktemp("source")
    shutil.copytree(
        ROOT / "python", folder / "python", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, folder)
    (folder / ".git").mkdir()  # as below a checkout, where scripts/package builds
    drawing = folder / "python/sojourn/report/library.json"  # of scripts/drawing.py; git ignores it
    if not drawing.exists():
        drawing.write_text("[]")
    crate = folder / "crates/tools"
    crate.mkdir(parents=True)
    (crate / "Cargo.toml").write_text(CRATE.format(version=__version__))
    (crate / "main.rs").write_text("fn main() {}\n")
    out = folder / "out"
    words = ("build", "--release", "--offline", "--compatibility", "linux", "--out", out)
    run(MATURIN, *words, at=folder, env={"CARGO_TARGET_DIR": str(folder / "target")})
    (path,) = out.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with that wheel; the packages that it needs are this one's."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=False, symlinks=True)
    packages = next((folder / "lib").glob("python3*/site-packages"))
    words = ("-m", "pip", "--python", folder / "bin/python", "install", "--no-deps", "--no-index")
    run(sys.executable, *words, "--no-compile", wheel, at=folder)
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "sojourn" not in path.name and not (packages / path.name).exists():
            (packages / path.name).symlink_to(path)
    return folder


def test_every_file_of_the_package_is_in_the_wheel_but_those_of_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        inside = {name for name in packed.namelist() if name.startswith("sojourn/")}
    files = [path for path in (ROOT / "python/sojourn").rglob("*") if path.is_file()]
    names = {path.relative_to(ROOT / "python").as_posix() for path in files}
    made = {"sojourn/report/library.json"}
    assert inside == {name for name in names | made if not OF_TESTS.search(name)}


def test_an_installed_wheel_finds_its_data(fresh: Path, tmp_path: Path) -> None:
    python, own = fresh / "bin/python", {"PYTHONPATH": ""}
    assert "selfcheck" in run(python, "-P", "-m", "sojourn", "ls", at=tmp_path, env=own)


@pytest.mark.skipif(not LAUNCHER.exists(), reason="needs the launcher of make build")
def test_the_launcher_starts_what_lies_beside_it(fresh: Path, tmp_path: Path) -> None:
    shutil.copy(LAUNCHER, fresh / "bin/sojourn")
    link = tmp_path / "sojourn"  # as pipx and uv make one
    link.symlink_to(fresh / "bin/sojourn")
    text = run(link, "--version", at=tmp_path, env={"PYTHONPATH": ""})
    assert text.startswith(f"sojourn {__version__} (")
    where = "import sojourn; print(sojourn.__file__)"
    used = run(fresh / "bin/python", "-P", "-c", where, at=tmp_path, env={"PYTHONPATH": ""})
    assert used.startswith(str(fresh))


def test_a_wheel_for_any_system_has_no_program_and_a_start_of_its_own(
    wheel: Path, tmp_path: Path
) -> None:
    run(sys.executable, ROOT / "scripts/any_wheel.py", wheel, tmp_path, at=tmp_path)
    (result,) = tmp_path.glob("*-any.whl")
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    words = ("-m", "pip", "--python", tmp_path / "venv/bin/python", "install", "--no-deps")
    run(sys.executable, *words, "--no-index", "--no-compile", result, at=tmp_path)
    text = run(tmp_path / "venv/bin/sojourn", "--version", at=tmp_path, env={"PYTHONPATH": ""})
    assert text.startswith(f"sojourn {__version__} (")
    assert not (tmp_path / "venv/bin/sojourn-load").exists()
    with zipfile.ZipFile(result) as packed:
        names = {Path(name).name for name in packed.namelist()}
    assert names.isdisjoint({"sojourn-load", "files_test.py", "record-1.tar.xz"})
