"""Listing and removing records: what is freed, what stays, and links that lead elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import disk, spec, store
from sojourn.errors import StoreFault
from sojourn.plan import codec, next_point
from sojourn.plan.rehearsal import imagine
from sojourn.store import listed
from sojourn.store.remove import drop_raw, remove
from sojourn.testing_questions import PLANS

RAW_BYTES = 200_000


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


@pytest.fixture
def record(results: Path) -> Callable[[str], Path]:
    """Make a record of one point with raw requests; returns its folder."""

    def make(study: str = "max_load_memcached") -> Path:
        asked = spec.load(study, profile="quick")
        with store.open(results, asked, resume=False, machine="vm") as opened:
            point = next_point(asked, [], PLANS)
            assert point is not None
            folder = opened.folder(point)
            assert (folder / "point.json").read_text() == codec.dumps(point)
            (folder / "raw.parquet").write_bytes(bytes(range(250)) * (RAW_BYTES // 250))
            (folder / "load.json").write_text("{}")
            opened.add(replace(imagine(point), folder=folder.name))
        return opened.path

    return make


def test_a_list_is_newest_first_and_says_what_is_where_and_how_large(
    results: Path, record: Callable[[str], Path]
) -> None:
    old, new = record("max_load_memcached"), record("selfcheck")
    old = old.rename(old.with_name("20200101T000000Z-aaaa"))
    store.keep_answer(new, "holds", "107k")
    result = listed(results)
    assert [r.path for r in result] == [new, old]
    assert [r.study for r in result] == ["selfcheck", "max_load_memcached"]
    assert [(r.machine, r.points, r.state, r.complete) for r in result] == [
        ("vm", 1, "unfinished", False)
    ] * 2
    assert [r.verdict for r in result] == ["holds", ""]
    assert all(r.size_bytes > r.raw_bytes >= RAW_BYTES for r in result)


def test_removed_is_the_record_and_only_the_record(
    results: Path, record: Callable[[str], Path]
) -> None:
    one, other = record("selfcheck"), record("selfcheck")
    assert remove(results, one) >= RAW_BYTES
    assert not one.exists()
    assert [r.path for r in listed(results)] == [other]
    remove(results, other)
    assert list(results.iterdir()) == [], "empty folders go too"
    assert results.is_dir()


def test_without_raw_requests_a_record_is_smaller_and_all_else_stays(
    results: Path, record: Callable[[str], Path]
) -> None:
    path = record("selfcheck")
    before = {file for file in path.rglob("*") if file.is_file()}
    assert drop_raw(results, path) >= RAW_BYTES
    after = {file for file in path.rglob("*") if file.is_file()}
    assert {file.name for file in before - after} == {"raw.parquet"}
    assert listed(results)[0].raw_bytes == 0
    assert drop_raw(results, path) == 0
    assert len(store.read(path).outcomes()) == 1


def test_what_is_being_measured_stays(results: Path) -> None:
    asked = spec.load("selfcheck", profile="quick")
    with store.open(results, asked, machine="vm") as opened:
        assert listed(results)[0].state == "running"
        for act in (remove, drop_raw):
            with pytest.raises(StoreFault, match="being measured by process"):
                act(results, opened.path)
        assert (opened.path / "manifest.json").is_file()
    remove(results, opened.path)


@pytest.mark.parametrize("act", [remove, drop_raw])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_no_link_on_the_way_is_followed(
    act: Callable[[Path, Path], int], level: int, results: Path, record: Callable[[str], Path]
) -> None:
    path = record("selfcheck")
    place = [path.parents[1], path.parent, path][level]
    elsewhere = results.parent / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    files = sorted(elsewhere.rglob("*"))
    assert listed(results) == []
    with pytest.raises(StoreFault, match="a link leads out"):
        act(results, path)
    assert sorted(elsewhere.rglob("*")) == files


def test_a_link_that_is_laid_while_a_record_is_removed_costs_no_folder_elsewhere(
    results: Path, record: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders that become empty are removed too: of the results, not of where a link leads."""
    path = record("selfcheck")
    study, elsewhere = path.parents[1], results.parent / "elsewhere"
    (elsewhere / path.parent.name).mkdir(parents=True)
    real = disk.tree.remove

    def exchanged(name: str, *, dir_fd: int) -> None:
        real(name, dir_fd=dir_fd)
        study.rename(results.parent / "moved")
        study.symlink_to(elsewhere)

    monkeypatch.setattr(disk.tree, "remove", exchanged)
    remove(results, path)
    assert not path.exists()
    assert (elsewhere / path.parent.name).is_dir()
    assert study.is_symlink()


def test_links_inside_a_record_are_removed_and_not_followed(
    results: Path, record: Callable[[str], Path]
) -> None:
    path = record("selfcheck")
    elsewhere = results.parent / "elsewhere"
    elsewhere.mkdir()
    for name in ("raw.parquet", "lock", "precious"):
        (elsewhere / name).write_bytes(b"x" * 5000)
    (path / "points" / "0009-link").symlink_to(elsewhere)
    (path / "more").symlink_to(elsewhere)
    (path / "lock").unlink()
    (path / "lock").symlink_to(elsewhere / "lock")
    inside = listed(results)[0].raw_bytes
    assert drop_raw(results, path) == inside
    remove(results, path)
    assert not path.exists()
    assert {f.name: f.stat().st_size for f in elsewhere.iterdir()} == {
        "raw.parquet": 5000,
        "lock": 5000,
        "precious": 5000,
    }


@pytest.mark.parametrize("name", ["/etc", "..", ".", "selfcheck", "selfcheck/vm/../../.."])
def test_what_is_no_record_of_the_folder_is_refused(
    name: str, results: Path, record: Callable[[str], Path]
) -> None:
    path = record("selfcheck")
    with pytest.raises(StoreFault, match="not a record of the results folder"):
        remove(results, results / name)
    assert path.is_dir()
