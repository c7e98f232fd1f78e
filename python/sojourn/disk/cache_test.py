"""What was computed is read only from a folder that other users cannot write."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from sojourn.disk import cache


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "sojourn" / "answers"


def only(place: Path) -> Path:
    (file,) = place.iterdir()
    return file


def test_what_was_kept_is_read_under_its_own_key_only(place: Path) -> None:
    content = b"a\nb\n\0\xff\n"
    assert cache.load("one") is None
    cache.keep("one", content)
    assert (cache.load("one"), cache.load("other")) == (content, None)
    only(place).rename(place / cache._name("other"))
    assert cache.load("other") is None  # it says for whom it was made


@pytest.mark.parametrize("at", [0, 20, 49, -1])
def test_one_wrong_byte_and_it_is_as_good_as_none(place: Path, at: int) -> None:
    cache.keep("one", b"content")
    whole = bytearray(only(place).read_bytes())
    whole[at] ^= 1
    only(place).write_bytes(bytes(whole))
    assert cache.load("one") is None


def test_half_a_file_an_empty_one_and_a_link_are_none(place: Path, tmp_path: Path) -> None:
    cache.keep("one", b"content")
    file = only(place)
    whole = file.read_bytes()
    for part in (whole[:-3], whole[:30], b""):
        file.write_bytes(part)
        assert cache.load("one") is None
    (tmp_path / "elsewhere").write_bytes(whole)
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    assert cache.load("one") is None


def test_a_folder_that_others_may_write_into_is_not_believed(place: Path) -> None:
    cache.keep("one", b"content")
    place.chmod(0o777)
    assert cache.load("one") is None
    cache.keep("two", b"content")
    place.chmod(0o700)
    assert (cache.load("one"), cache.load("two")) == (b"content", None)


def test_a_folder_of_somebody_else_or_a_link_to_one_is_not_believed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.keep("one", b"content")
    own = os.geteuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: own + 1)
        assert cache.load("one") is None
    place.rename(place.with_name("moved"))
    place.symlink_to("moved")
    assert cache.load("one") is None


def test_it_stays_small(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "FILES", 3)
    for number in range(5):
        cache.keep(f"{number}", b"x" * 100)
        os.utime(place / cache._name(f"{number}"), (number, number))
    assert [cache.load(f"{number}") is not None for number in range(5)] == [False] * 2 + [True] * 3
    monkeypatch.setattr(cache, "ALL_BYTES", 250)
    cache.keep("last", b"y")
    assert cache.load("last") == b"y"
    assert len(list(place.iterdir())) == 2
    monkeypatch.setattr(cache, "FILE_BYTES", 1100)
    cache.keep("large", b"z" * 100)
    assert cache.load("large") is None


def test_who_acts_as_another_user_reads_and_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.keep("one", b"content")
    monkeypatch.setattr(cache.Use, "is_on", False)
    cache.keep("two", b"content")
    assert cache.load("one") is None
    monkeypatch.setattr(cache.Use, "is_on", True)
    assert (cache.load("one"), cache.load("two")) == (b"content", None)


def test_where_nothing_can_be_written_nothing_is_kept(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.parent.mkdir()
    place.write_text("in the way")
    cache.keep("one", b"content")
    assert cache.load("one") is None
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    cache.keep("one", b"content")
    assert cache.load("one") is None


def test_a_path_that_is_no_utf_8_is_a_key_too(place: Path) -> None:
    key = os.fsdecode(b"results/\xff")
    cache.keep(key, b"content")
    assert cache.load(key) == b"content"
    assert only(place).is_file()


def test_what_is_kept_is_not_copied() -> None:
    content = bytes(2**22)
    tracemalloc.start()
    try:
        cache.keep("key", content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(content) / 2
    assert cache.load("key") == content
