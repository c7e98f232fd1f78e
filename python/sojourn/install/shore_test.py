"""PostgreSQL's packages: which are asked for, and what is retained of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.install import apt_calls, debs, shore

BROUGHT = (
    "libllvm14",
    "libpq5",
    "libldap-2.5-0",
    "perl",
    "postgresql-client-15",
    "postgresql-common",
    "postgresql-15",
    "libjson-perl",
    "postgresql",
)


def test_the_server_and_the_libraries_that_are_lacking_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(debs, "brought", lambda _: BROUGHT)
    names = [deb.package for deb in shore.wanted()]
    assert names == ["postgresql-15", "libpq5", "libldap-2.5-0"]
    monkeypatch.setattr(debs, "brought", lambda _: ())
    with pytest.raises(HostFault, match="installed already"):
        shore.wanted()


def test_names_are_read_from_what_apt_would_download(monkeypatch: pytest.MonkeyPatch) -> None:
    line = "'http://m/p/{0}_15.2%2bdeb_amd64.deb' {0}_15.2%2bdeb_amd64.deb 12 SHA256:ab\n"
    text = "".join(map(line.format, ("postgresql-15", "libpq5")))

    def tried(*_: object) -> object:
        return subprocess.CompletedProcess((), 0, text, "")

    monkeypatch.setattr(apt_calls, "tried", tried)
    monkeypatch.setattr(programs, "find", lambda name, **_: Path(name))
    assert debs.brought("postgresql") == ("postgresql-15", "libpq5")

    def broken(*_: object) -> object:
        return subprocess.CompletedProcess((), 100, "", "E: Unmet dependencies.\n")

    monkeypatch.setattr(apt_calls, "tried", broken)
    with pytest.raises(HostFault, match="Unmet dependencies"):
        debs.brought("postgresql")


def test_programs_their_files_and_libraries_are_stored_and_a_compiler_is_not(
    tmp_path: Path,
) -> None:
    unpacked, into = tmp_path / "unpacked", tmp_path / "into"
    home = Path("usr/lib/postgresql/15")
    for name in (
        home / "bin/postgres",
        home / "bin/initdb",
        home / "bin/pg_upgrade",
        home / "lib/plpgsql.so",
        home / "lib/llvmjit.so",
        home / "lib/bitcode/x.bc",
        "usr/share/postgresql/15/postgres.bki",
        "usr/lib/x86_64-linux-gnu/libpq.so.5.15",
    ):
        path = unpacked / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(name))
    (unpacked / "usr/lib/x86_64-linux-gnu/libpq.so.5").symlink_to("libpq.so.5.15")
    into.mkdir()
    facts = shore.make(unpacked, into)
    selected = {str(path.relative_to(into)) for path in into.rglob("*") if path.is_file()}
    assert selected == {
        "usr/lib/postgresql/15/bin/postgres",
        "usr/lib/postgresql/15/bin/initdb",
        "usr/lib/postgresql/15/lib/plpgsql.so",
        "usr/share/postgresql/15/postgres.bki",
        "usr/lib/libraries/libpq.so.5",
        "usr/lib/libraries/libpq.so.5.15",
    }
    assert facts == {
        "release": "15",
        "bin": "usr/lib/postgresql/15/bin",
        "libraries": "usr/lib/libraries",
    }
    with pytest.raises(ValueError, match="no server"):
        shore.make(tmp_path / "nothing", into)
