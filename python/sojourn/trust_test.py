"""`sudo -E` leaves every variable of the user who called: root takes no folder of theirs."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from sojourn import disk, services
from sojourn.disk import cache
from sojourn.install.part import cache_folder
from sojourn.places.ports import HOST, Address
from sojourn.run.state import elsewhere, state_folder
from sojourn.services import Allowance, Program

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it gives a folder away")
STRANGER = 65534


@pytest.fixture(name="own", autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SOJOURN_CACHE", "SOJOURN_STATE"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


def test_a_folder_that_may_not_be_looked_at_is_not_taken(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setenv("XDG_CACHE_HOME", "/root/other")
    monkeypatch.setattr(Path, "exists", refused)
    assert cache_folder() == own / ".cache/sojourn"


@needs_root
@pytest.mark.parametrize("below", ["", "new/one"])
def test_a_folder_of_somebody_else_is_not_taken_from_a_variable(
    below: str, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "theirs"
    path.mkdir()
    os.chown(path, STRANGER, STRANGER)
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(path / below))
    assert cache.place() == own / ".cache/sojourn/answers"
    assert cache_folder() == own / ".cache/sojourn"
    assert state_folder() == own / ".local/state/sojourn"
    cache.keep("one", b"content")
    assert list(path.iterdir()) == []
    assert cache.load("one") == b"content"


@pytest.mark.parametrize("below", ["", "new/one"])
def test_the_users_own_folder_is_taken(
    below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / below))
    assert cache_folder() == tmp_path / below / "sojourn"


def test_a_name_that_depends_on_where_one_is_is_not_taken(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert cache_folder() == own / ".cache/sojourn"


def test_a_home_into_which_all_may_write_is_not_taken(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert disk.home() == own
    own.chmod(0o1777)
    assert disk.home() == Path(pwd.getpwuid(os.geteuid()).pw_dir)


def test_a_number_without_an_account_and_a_home_is_advised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So a container runs that is started with a user of which its image knows nothing."""

    def none(what: object) -> pwd.struct_passwd:
        raise KeyError(what)

    monkeypatch.setattr(pwd, "getpwuid", none)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert disk.home() == Path("/nonexistent")
    assert state_folder() == Path("/nonexistent/.local/state/sojourn")
    assert cache.load("one") is None
    assert elsewhere().endswith("SOJOURN_STATE=$PWD/sojourn-state")
    assert disk.with_home("~/app") == Path("~/app")
    room = Allowance(cpus=1, memory_bytes=1 << 30)
    made = services.build("command", {"argv": "sh -c {port}"}, room)
    assert isinstance(made, Program)
    start = made.start(Path("/work"), Address(host=HOST, port=1))
    assert not [word for word in start.words if word.startswith("HOME=")]


def test_a_home_of_nobody_is_a_name_like_others(own: Path) -> None:
    assert disk.with_home("~/app") == own / "app"
    assert disk.with_home("~no such user/app") == Path("~no such user/app")
