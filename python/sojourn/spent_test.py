"""A machine that has no more of something: that is said, and no file is called damaged for it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hdrh.codec import HdrHistogramEncoder
from hdrh.histogram import HdrHistogram

from sojourn import disk, spec, store
from sojourn.errors import RunFault
from sojourn.importers.file import File
from sojourn.samples import histogram, raw
from sojourn.samples.interval import intervals
from sojourn.store import columns, files, index


@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_machine_that_opens_no_more_files_is_no_damage_of_the_file(
    error: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a reader advises to remove what is sound, and a writer to choose another folder."""
    for name in ("raw.parquet", "load.hlog", "manifest.json", "study.toml"):
        (tmp_path / name).write_text("x", encoding="utf-8")

    def spent(*_: object, **__: object) -> int:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "open", spent)
    monkeypatch.setattr(Path, "read_text", spent)
    monkeypatch.setattr(Path, "open", spent)
    acts: tuple[Callable[[], object], ...] = (
        lambda: raw.requests(tmp_path / "raw.parquet"),
        lambda: intervals(tmp_path / "load.hlog"),
        lambda: store.read(tmp_path),
        lambda: spec.load(tmp_path / "study.toml"),
        lambda: disk.read_named(tmp_path / "study.toml"),
        lambda: File(tmp_path / "manifest.json").head(),
        lambda: disk.keep_text(tmp_path / "new", "x"),
    )
    for act in acts:
        with pytest.raises(RunFault) as raised:
            act()
        assert "remove" not in raised.value.fix
        assert "ulimit" in raised.value.fix or error != errno.EMFILE


def test_a_file_for_which_there_is_no_memory_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow's own error of memory is one of Arrow's errors too, which mean damage."""
    for name in ("outcome.parquet", "raw.parquet"):
        pq.write_table(pa.table({"x": [1]}), tmp_path / name)

    sound = HdrHistogram(1, 1000, 3).encode()

    def greedy(*_: object, **__: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr(pq, "ParquetFile", greedy)

    def taken_apart() -> None:
        with files.readable(tmp_path, "remove it"):
            raise MemoryError

    monkeypatch.setattr(pa, "concat_tables", greedy)
    monkeypatch.setattr(HdrHistogramEncoder, "decode", greedy)

    acts: tuple[Callable[[], object], ...] = (
        lambda: histogram.decode(sound, at="load.hlog:47"),
        lambda: index.joined(columns.SCHEMA.empty_table(), [], tmp_path),
        lambda: columns.read(tmp_path / "outcome.parquet"),
        lambda: raw.requests(tmp_path / "raw.parquet"),
        taken_apart,
    )
    for act in acts:
        with pytest.raises(RunFault, match="more memory than there is") as raised:
            act()
        assert "remove" not in raised.value.fix


def test_raw_requests_that_are_too_many_to_select_from_are_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def greedy(*_: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr(disk, "read_columns", lambda *_, **__: pa.table({"excluded": [True]}))
    monkeypatch.setattr(raw, "_counted", greedy)
    (tmp_path / "raw.parquet").touch()
    with pytest.raises(RunFault, match="more memory than there is"):
        raw.requests(tmp_path / "raw.parquet")
