"""The way to a record: no other user may exchange a folder on it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sojourn import spec, store
from sojourn.disk import way
from sojourn.errors import StoreFault
from sojourn.spec import Study

STRANGER = 65_534
LEVELS = 3  # results, study, machine

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives folders away: needs root")


@pytest.fixture
def study() -> Study:
    return spec.load("max_load_memcached", profile="quick")


def way_of(results: Path, study: Study) -> list[Path]:
    """The folders on the way to a record of the machine `m`, which are made."""
    (results / study.name / "m").mkdir(parents=True)
    return [results, results / study.name, results / study.name / "m"]


def test_a_link_that_takes_the_name_of_an_open_record_leads_nowhere(
    study: Study, tmp_path: Path
) -> None:
    """Whoever owns a folder above renames the record while its points are measured."""
    elsewhere, moved = tmp_path / "elsewhere", tmp_path / "moved"
    elsewhere.mkdir()
    with store.open(tmp_path / "results", study, machine="m") as record:
        record.path.rename(moved)
        record.path.symlink_to(elsewhere)
        with pytest.raises(StoreFault, match="a link"):
            record.finish()
        with pytest.raises(StoreFault, match="a link"):
            store.keep_answer(record.path, "holds", "x")
        assert list(elsewhere.iterdir()) == []
        record.path.unlink()
        moved.rename(record.path)
        record.finish()
    assert record.is_complete


def test_a_record_that_is_gone_on_with_is_claimed_too(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.open(tmp_path / "results", study, machine="m") as first:
        assert first.outcomes() == ()
    claimed: set[Path] = set()
    monkeypatch.setattr(way, "_CLAIMED", claimed)  # as in another process
    with store.open(tmp_path / "results", study, machine="m") as again:
        assert again.path == first.path
        assert not again.is_complete
        again.path.rename(tmp_path / "moved")
        again.path.symlink_to(tmp_path / "moved")
        with pytest.raises(StoreFault, match="a link"):
            again.finish()


@as_root
@pytest.mark.parametrize("level", range(LEVELS))
def test_root_does_not_write_into_what_another_user_may_exchange(
    study: Study, tmp_path: Path, level: int
) -> None:
    results = tmp_path / "results"
    folder = way_of(results, study)[level]
    os.chown(folder, STRANGER, STRANGER)
    with pytest.raises(StoreFault, match=f"belongs to user {STRANGER}") as caught:
        store.open(results, study, machine="m")
    assert caught.value.at == str(folder)
    assert f"--results {results}/root" in caught.value.fix
    if not level:
        with pytest.raises(StoreFault, match=f"belongs to user {STRANGER}"):
            store.prepare(results)
    assert list((results / study.name / "m").iterdir()) == []
    with store.open(results / "root", study, machine="m") as record:
        assert record.path.is_relative_to(results), "as the fix says"


@as_root
@pytest.mark.parametrize("level", range(LEVELS))
def test_root_writes_into_no_folder_that_all_may_write_but_a_sticky_one(
    study: Study, tmp_path: Path, level: int
) -> None:
    folder = way_of(tmp_path / "results", study)[level]
    folder.chmod(0o777)
    with pytest.raises(StoreFault, match="may be written by others"):
        store.open(tmp_path / "results", study, machine="m")
    folder.chmod(0o1777)
    with store.open(tmp_path / "results", study, machine="m") as record:
        assert record.outcomes() == ()


@as_root
def test_in_a_users_folder_root_makes_its_own_results(study: Study, tmp_path: Path) -> None:
    """As with `sudo sojourn run` in a project of the user's."""
    project = tmp_path / "project"
    project.mkdir()
    os.chown(project, STRANGER, STRANGER)
    before = os.umask(0)
    try:
        store.prepare(project / "results")
        with store.open(project / "results", study, machine="m") as record:
            record.finish()
    finally:
        os.umask(before)
    for folder in (project / "results", record.path.parent.parent, record.path.parent, record.path):
        assert (folder.stat().st_uid, folder.stat().st_mode & 0o777) == (0, 0o755)
    (project / "link").symlink_to(project / "results")
    os.chown(project / "link", STRANGER, STRANGER, follow_symlinks=False)
    with pytest.raises(StoreFault, match=f"link that user {STRANGER} has made"):
        store.prepare(project / "link")


@as_root
def test_who_became_root_by_sudo_goes_on_with_results_of_their_own(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = tmp_path / "results"
    for folder in way_of(results, study):
        os.chown(folder, STRANGER, STRANGER)
        folder.chmod(0o775)
    monkeypatch.setenv("SUDO_UID", str(STRANGER))
    with pytest.raises(StoreFault, match="may be written by others"):
        store.prepare(results)
    monkeypatch.setenv("SUDO_GID", str(STRANGER))
    store.prepare(results)
    with store.open(results, study, machine="m") as record:
        assert record.path.is_relative_to(results)
    monkeypatch.setenv("SUDO_UID", str(STRANGER + 1))
    with pytest.raises(StoreFault, match=f"belongs to user {STRANGER}"):
        store.prepare(results)
