"""A record's study is read in full once, and again where it or the code differs."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from sojourn import store
from sojourn.errors import Fault
from sojourn.store import answers, profiles
from sojourn.store.profiles import Profiles
from sojourn.store.record import Record

GOLDEN = Path(store.__file__).parent / "golden" / "record-1.tar.xz"


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with tarfile.open(GOLDEN) as packed:
        packed.extractall(tmp_path / "results")  # noqa: S202 - our own
    (path,) = store.records(tmp_path / "results")
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    seen: list[Path] = []

    def read(path: Path) -> Record:
        seen.append(path)
        return Record(path)

    monkeypatch.setattr(profiles, "Record", read)
    return seen


def known(path: Path) -> str:
    own = Profiles(path.parents[2])
    profile = own.of(path)
    own.keep()
    return profile


def test_the_same_text_is_read_once(record: Path, reads: list[Path]) -> None:
    assert known(record) == known(record) == Record(record).study.run.profile
    assert reads == [record]


def test_another_text_is_another_study(record: Path, reads: list[Path]) -> None:
    before = known(record)
    study = record / "study.toml"
    text = study.read_text()
    other = "full" if before != "full" else "quick"
    assert f'profile = "{before}"' in text
    study.write_text(text.replace(f'profile = "{before}"', f'profile = "{other}"'))
    assert (known(record), len(reads)) == (other, 2)
    study.write_text(f"{text}\n[services")
    with pytest.raises(Fault):
        known(record)
    study.unlink()
    with pytest.raises(Fault):
        known(record)


def test_other_code_reads_it_anew(
    record: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    known(record)
    monkeypatch.setattr(answers, "code", lambda: "of tomorrow")
    known(record)
    assert len(reads) == 2


def test_what_is_written_while_it_is_read_is_not_stored(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(path: Path) -> Record:
        result = Record(path)
        study = path / "study.toml"
        study.write_text(study.read_text() + "\n")
        return result

    monkeypatch.setattr(profiles, "Record", read)
    own = Profiles(record.parents[2])
    own.of(record)
    own.keep()
    assert not Profiles(record.parents[2])._known


def test_a_list_and_a_query_are_the_same_again(record: Path) -> None:
    results = record.parents[2]
    assert store.listed(results) == store.listed(results)
    asked = "select count(*), min(study) from outcomes"
    assert store.query(results, asked) == store.query(results, asked)
    (record / "study.toml").write_text("name = 1")
    assert store.listed(results)[0].state.startswith("unreadable")
    with pytest.raises(Fault):
        store.query(results, asked)
