"""Whom servers run as: somebody who is no one else on this machine."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.errors import HostFault
from sojourn.places import users


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As root of a machine that maps all numbers, whoever runs this test."""
    monkeypatch.delenv(users.UID, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(users, "_has", lambda _: True)
    monkeypatch.setattr(users, "_is_mapped", lambda *_: True)
    users._free_uids.cache_clear()
    yield
    users._free_uids.cache_clear()


def test_a_number_that_no_one_has_is_taken_and_kept() -> None:
    user = users.server_user()
    assert user is not None
    assert user.uid in users.FREE
    assert user.uid == user.gid
    assert user == users.server_user()
    with pytest.raises(KeyError):
        pwd.getpwuid(user.uid)
    in_use = {path.stat().st_uid for path in Path("/proc").glob("[1-9]*") if path.exists()}
    assert user.uid not in in_use


def test_numbers_of_accounts_of_processes_and_of_systemd_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, second, third, fourth, *_ = users.FREE
    monkeypatch.setattr(users, "_uids", lambda: [0, first])
    monkeypatch.setattr(users, "_is_account", lambda uid: uid == second)
    monkeypatch.setattr(users, "DYNAMIC", tmp_path)
    (tmp_path / str(third)).touch()
    user = users.server_user()
    assert user is not None
    assert user.uid == fourth


def test_what_is_beside_a_server_is_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    server, guest = users.server_user(), users.beside_user()
    assert server is not None
    assert guest is not None
    assert guest.uid in users.FREE
    assert guest.uid != server.uid
    monkeypatch.setenv(users.UID, str(guest.uid))
    other = users.beside_user()
    assert other is not None
    assert other.uid == server.uid


def test_one_may_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(users.UID, "61999")
    user = users.server_user()
    assert user is not None
    assert (user.uid, user.gid) == (61_999, 61_999)


@pytest.mark.parametrize("text", ["0", "root", "-1", "65534", "4294967295", "1.5", "٣"])
def test_what_is_no_ordinary_user_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(users.UID, text)
    with pytest.raises(HostFault, match=users.UID):
        users.server_user()


def test_who_must_have_an_account_is_the_user_nobody() -> None:
    user = users.server_user(has_account=True)
    assert user is not None
    assert user.name == "nobody"


def test_where_root_has_no_such_numbers_it_is_the_user_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a container with a user namespace of 65,536 numbers, less the upper ones."""
    monkeypatch.setattr(users, "_is_mapped", lambda _, number: number not in users.FREE)
    user = users.server_user()
    assert user is not None
    assert user.name == "nobody"


def test_an_ordinary_user_becomes_no_other_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert users.server_user() is None
    assert not users.stays_root()


def test_root_without_the_right_to_change_users_stays_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that dropped CAP_SETUID."""
    assert not users.stays_root()
    monkeypatch.setattr(users, "_has", lambda _: False)
    assert users.stays_root()


def test_root_of_a_namespace_without_other_users_stays_root(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after `unshare -r`, which maps root alone."""
    monkeypatch.setattr(users, "_is_mapped", lambda _, number: number == 0)
    assert users.stays_root()
