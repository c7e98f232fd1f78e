"""Films: what ffmpeg is asked, and what is stored of what it made."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.install import media_streaming as films
from sojourn.install.part import hashed


def small(into: Path) -> list[str]:
    """Every file of one film, a few bytes each."""
    every = [name for part in films.names(1) for name in part]
    for number, name in enumerate(every):
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_bytes(f"{number} ".encode() * (number + 1))
    return every


def test_files_stand_in_the_order_of_sessions_items() -> None:
    results = list(films.names())
    assert len(results) == len(films.FILMS) * len(films.QUALITIES)
    assert all(len(part) == 1 + films.CHUNKS for part in results)
    assert results[0][:3] == ("film0/q0/list.m3u8", "film0/q0/0.ts", "film0/q0/1.ts")
    assert results[len(films.QUALITIES)][0] == "film1/q0/list.m3u8"


def test_what_is_asked_for_and_what_it_must_be_is_written_beside_it(tmp_path: Path) -> None:
    every = small(tmp_path)
    films.describe(tmp_path, list(films.names(1)))
    assert (tmp_path / films.PATHS).read_text().split() == [f"/{name}" for name in every]
    lines = [line.split() for line in (tmp_path / films.BODIES).read_text().splitlines()]
    for name, (path, size, sha256) in zip(every, lines, strict=True):
        at = tmp_path / name
        assert (path, int(size), sha256) == (f"/{name}", at.stat().st_size, hashed(at))


def test_what_lacks_a_chunk_or_has_one_more_is_no_film(tmp_path: Path) -> None:
    small(tmp_path)
    (tmp_path / "film0" / "q0" / "10.ts").write_text("one more")
    with pytest.raises(ValueError, match=r"film0/q0/10\.ts"):
        films.describe(tmp_path, list(films.names(1)))
    (tmp_path / "film0" / "q0" / "10.ts").unlink()
    (tmp_path / "film0" / "q2" / "3.ts").write_bytes(b"")
    with pytest.raises(ValueError, match=r"empty film0/q2/3\.ts"):
        films.describe(tmp_path, list(films.names(1)))
    (tmp_path / "film0" / "q2" / "3.ts").unlink()
    with pytest.raises(ValueError, match=r"film0/q2/3\.ts"):
        films.describe(tmp_path, list(films.names(1)))


def test_ffmpeg_is_downloaded_where_the_machine_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "places", lambda: (tmp_path,))
    assert [(deb.package, deb.has_more) for deb in films.packages()] == [("ffmpeg", True)]
    here = tmp_path / "ffmpeg"
    here.write_text("#!/bin/sh\n")
    here.chmod(0o755)
    assert films.packages() == ()


def test_ffmpeg_that_was_unpacked_finds_its_libraries_in_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "places", lambda: (tmp_path / "none",))
    unpacked, into = tmp_path / "unpacked", tmp_path / "into"
    for library in ("lib/x86_64-linux-gnu/libav.so.5", "lib/x86_64-linux-gnu/pulse/libcommon.so"):
        (unpacked / "usr" / library).parent.mkdir(parents=True, exist_ok=True)
        (unpacked / "usr" / library).write_text("")
    program = unpacked / "usr/bin/ffmpeg"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH" >&2; exit 3\n')
    program.chmod(0o755)
    into.mkdir()
    with pytest.raises(ValueError, match=r"failed in q0: .*x86_64-linux-gnu:.*/pulse$"):
        films.make(unpacked, into)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="program ffmpeg is not installed")
def test_ffmpeg_makes_a_play_list_and_ten_chunks_and_the_same_ones_again(tmp_path: Path) -> None:
    ffmpeg, folders = programs.find("ffmpeg"), (tmp_path / "one", tmp_path / "two")
    for folder in folders:
        folder.mkdir()
        films._run(films.command(ffmpeg, films.FILMS[0], films.QUALITIES[0]), folder, os.environ)
    made = [{path.name: hashed(path) for path in folder.iterdir()} for folder in folders]
    assert set(made[0]) == {films.LIST, *(f"{chunk}.ts" for chunk in range(films.CHUNKS))}
    assert made[0] == made[1]
    size = sum((folders[0] / f"{chunk}.ts").stat().st_size for chunk in range(films.CHUNKS))
    planned = films.QUALITIES[0].kbit_per_s * 1000 / 8 * films.CHUNKS * films.CHUNK_S
    assert planned <= size <= 1.3 * planned  # the bit rate is stored, and containers come on top
    assert max(path.stat().st_size for path in folders[0].iterdir()) < 1 << 20
