from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sojourn.errors import RunFault
from sojourn.places.guest import linked
from sojourn.places.guest.initrd import write_job
from sojourn.places.guest.initrd_test import SHELL, job

needs_ldd = pytest.mark.skipif(shutil.which("ldd") is None, reason="needs ldd: libc-bin")


def test_a_script_cannot_be_carried_over(tmp_path: Path) -> None:
    script = tmp_path / "serve"
    script.write_text("#!/usr/bin/env python3\n")
    with pytest.raises(RunFault) as caught:
        linked.linked(script)
    assert "not a native program" in caught.value.what
    assert 'place = "netns"' in caught.value.fix


def test_a_library_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "serve"
    program.write_bytes(linked.ELF)
    text = "\tlibmine.so.1 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x00007f)\n"
    done = subprocess.CompletedProcess([], 0, text, "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    with pytest.raises(RunFault, match=r"lacks a library: libmine\.so\.1"):
        linked.linked(program)
    monkeypatch.setattr(linked, "_is_library", lambda _: True)
    assert linked.further([program]) == (Path("/lib/libc.so.6"),), "it may set where loaders look"
    done.stdout = text.splitlines()[1]
    assert linked.linked(program) == (Path("/lib/libc.so.6"),)


@needs_ldd
def test_libraries_of_programs_that_the_service_starts_go_along(tmp_path: Path) -> None:
    work, at = tmp_path / "work", tmp_path / "job"
    (work / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("grep") or "", work / "bin" / "stage")
    own = set(linked.linked(SHELL))
    others = set(linked.linked(work / "bin" / "stage")) - own
    if not others:
        pytest.skip("grep has no library beyond those of the shell")
    write_job(at, job(work))
    assert all(str(path).lstrip("/").encode() + b"\0" in at.read_bytes() for path in others)


def test_a_planted_program_brings_no_file_that_others_may_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, private, text = tmp_path / "stage", tmp_path / "private", tmp_path / "text"
    for path in (program, private):
        path.write_bytes(linked.ELF)
    text.write_text("no library")
    private.chmod(0o600)
    planted = "".join(f"\t{path} (0x1)\n" for path in (private, text, program))
    done = subprocess.CompletedProcess([], 0, f"{tmp_path}/ /etc/shadow (0x1:\n{planted}", "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert linked.further([program]) == (program,)


@needs_ldd
def test_what_is_no_native_file_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for its peer
    (tmp_path / "text").write_text("no program")
    (tmp_path / "link").symlink_to(SHELL.resolve())
    assert linked.further([tmp_path]) == ()
    assert set(linked.further([tmp_path, SHELL.resolve()])) == set(linked.linked(SHELL))
