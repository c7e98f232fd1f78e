from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.__main__ import start
from sojourn.errors import HostFault


def executable(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_beside_the_interpreter_comes_before_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python3"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    on_path = executable(tmp_path / "path", "sojourn-x")
    assert programs.find("sojourn-x") == on_path
    beside = executable(tmp_path / "venv", "sojourn-x")
    assert programs.find("sojourn-x") == beside


def test_a_file_that_cannot_be_run_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    executable(tmp_path, "sojourn-x").chmod(0o644)
    assert programs.maybe("sojourn-x") is None


def test_fault_lists_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostFault) as caught:
        programs.find("sojourn-x", fix="apt install x")
    for folder in programs.places():
        assert str(folder) in caught.value.at
    assert caught.value.fix == "apt install x"


@pytest.mark.parametrize("path", [".", "", "here", "::", ".:/none"])
def test_what_lies_in_the_current_folder_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    executable(tmp_path, "memcached-x")
    executable(tmp_path / "here", "memcached-x")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path)
    assert programs.maybe("memcached-x") is None
    monkeypatch.setattr(sys, "argv", ["sojourn", "--version"])
    assert start() == 0
    assert shutil.which("memcached-x") is None
    assert subprocess.run(["/bin/sh", "-c", "memcached-x"], check=False).returncode == 127
