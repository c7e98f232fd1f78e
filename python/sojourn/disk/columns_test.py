"""What of a Parquet file counts against the bounds, and how much a packed file may hold."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn import disk
from sojourn.disk import expanded

ROWS = 1000


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    """Two columns of 8,000 bytes, in four groups of rows; one in which each row has ten values."""
    path = tmp_path / "table.parquet"
    drawn = np.random.default_rng(1).integers(0, 2**60, (2, ROWS))
    lists = pa.array([[row] * 10 for row in range(ROWS)])
    table = pa.table({"a": drawn[0], "b": drawn[1], "lists": lists})
    pq.write_table(table, path, row_group_size=ROWS // 4, use_dictionary=False, compression=None)
    return path


def test_all_groups_of_rows_count_against_the_bound_of_bytes(path: Path) -> None:
    """Each group has 4,000 bytes in both columns, and a bound between one and all refuses it."""
    wanted = ["a", "b"]
    with pytest.raises(ValueError, match=r"it holds 1\d{4} bytes, at most 10000 are read"):
        disk.read_columns(path, rows=ROWS, values=ROWS, columns=wanted, most=10_000)
    table = disk.read_columns(path, rows=ROWS, values=ROWS, columns=wanted, most=20_000)
    assert table.num_rows == ROWS


def test_columns_that_are_not_read_count_against_no_bound(path: Path) -> None:
    with pytest.raises(ValueError, match="has 2500 values, at most 1000"):
        disk.read_columns(path, rows=ROWS, values=ROWS)
    table = disk.read_columns(path, rows=ROWS, values=ROWS, columns=["a"], most=10_000)
    assert table.column_names == ["a"]


@pytest.mark.parametrize("free", [0, 2**20], ids=["beyond the ratio", "within what is free"])
def test_a_packed_file_is_refused_beyond_both_bounds_only(
    free: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expanded, "FREE_BYTES", free)
    text = b"a" * 900_000  # packs to a thousandth
    file = expanded.expanded(io.BytesIO(gzip.compress(text)))
    if free:
        assert file.read() == text
        return
    with pytest.raises(expanded.PackedError, match="more than 200 times as many"):
        file.read()


def test_a_packed_file_of_any_size_is_read_within_the_ratio(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expanded, "FREE_BYTES", 1000)
    text = np.random.default_rng(2).bytes(100_000)
    assert expanded.expanded(io.BytesIO(gzip.compress(text))).read() == text
