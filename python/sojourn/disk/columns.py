"""Parquet files that somebody else may have made, held against bounds before they are read.

A file of some kilobytes may stand for gigabytes: many rows that are alike, one row with a list of
millions, or one long text that a million rows repeat. So what the file says of itself is looked at
first, and rows are read in portions whose sum is bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from sojourn.disk.foreign import reader
from sojourn.disk.spent import no_memory

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FILE_BYTES = 2 * 1024**3
TABLE_BYTES = 2 * 1024**3  # in memory
PORTION_BYTES = 64 * 1024**2
_OWN_SCHEMA = b"ARROW:schema"
_ROWS = 65_536  # of a portion
_CHUNKS = 100_000  # columns of all groups of rows
_THRIFT = 1_000_000  # entries of a list, and bytes of a text, of the file's own description


def read_columns(
    path: Path,
    *,
    rows: int,
    values: int,
    columns: Sequence[str] | None = None,
    most: int = TABLE_BYTES,
    is_named: bool = False,
) -> pa.Table:
    """Read a Parquet file.

    Args:
        path: of the file.
        rows: as many it may have.
        values: as many a column may have, elements of lists counted.
        columns: to be read; None: all.
        most: bytes that the table may take in memory.
        is_named: the user has named the file, so it may be a link.

    Raises:
        OSError, ValueError, pyarrow.ArrowException: it cannot be read, or is beyond a bound.
        RunFault: it takes more memory than there is.
    """
    try:
        with reader(path, most=FILE_BYTES, is_named=is_named) as handle:
            return _read(handle, rows=rows, values=values, columns=columns, most=most)
    except MemoryError:  # Arrow's too
        raise no_memory(path) from None


def read_schema(path: Path, *, is_named: bool = False) -> pa.Schema:
    """The columns of a Parquet file, what is written about them and the file; see `read_columns`.

    pyarrow leaves out what is written about a file that has an Arrow schema beside it.
    """
    try:
        with reader(path, most=FILE_BYTES, is_named=is_named) as handle:
            file = _opened(handle)
            about = {k: v for k, v in (file.metadata.metadata or {}).items() if k != _OWN_SCHEMA}
            return file.schema_arrow.with_metadata({**about, **(file.schema_arrow.metadata or {})})
    except MemoryError:
        raise no_memory(path) from None


def _opened(handle: IO[bytes]) -> pq.ParquetFile:
    import pyarrow.parquet as pq  # noqa: PLC0415 - commands that read no record start without it

    # For a path, or to read ahead, pyarrow would start threads; one that fails looks like damage.
    return pq.ParquetFile(
        handle,
        pre_buffer=False,
        thrift_string_size_limit=_THRIFT,
        thrift_container_size_limit=_THRIFT,
    )


def _read(
    handle: IO[bytes], *, rows: int, values: int, columns: Sequence[str] | None, most: int
) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - commands that read no record start without it

    file = _opened(handle)
    portion = _portion(file, rows=rows, values=values, columns=columns, most=most)
    if columns is not None:
        names = set(file.schema_arrow.names)
        if lacking := [name for name in columns if name not in names]:
            raise ValueError(f"it has no column '{lacking[0]}'")
    parts, size = [], 0
    for batch in file.iter_batches(portion, columns=columns, use_threads=False):
        size += batch.nbytes
        if size > most:
            raise ValueError(f"it takes more than {most} bytes of memory")
        parts.append(batch)
    schema, metadata = file.schema_arrow, file.schema_arrow.metadata
    if columns is not None:
        schema = pa.schema([schema.field(n) for n in schema.names if n in set(columns)])
    table = pa.Table.from_batches(parts, parts[0].schema if parts else schema)
    return table.replace_schema_metadata(metadata)


def _portion(
    file: pq.ParquetFile, *, rows: int, values: int, columns: Sequence[str] | None, most: int
) -> int:
    """Rows that can be read at once, by what the file says of itself; ValueError beyond a bound."""
    about = file.metadata
    if about.num_rows > rows:
        raise ValueError(f"it has {about.num_rows} rows, at most {rows} are read")
    if about.num_row_groups * about.num_columns > _CHUNKS:
        raise ValueError(f"it has more than {_CHUNKS} pieces of columns")
    total, widest, wanted = 0, 1, set(columns or ())
    for group in range(about.num_row_groups):
        inner = about.row_group(group)
        for at in range(about.num_columns):
            column = inner.column(at)
            if columns is not None and column.path_in_schema.partition(".")[0] not in wanted:
                continue
            if column.num_values > values:
                raise ValueError(
                    f"a column has {column.num_values} values, at most {values} are read"
                )
            total += column.total_uncompressed_size
            if column.physical_type == "BYTE_ARRAY":  # each row may repeat the whole of it
                widest = max(widest, column.total_uncompressed_size)
                repeated = (
                    column.num_values / max(1, inner.num_rows) * column.total_uncompressed_size
                )
                if repeated > most:
                    raise ValueError("a text in it is repeated too often in one row")
    if total > most:
        raise ValueError(f"it holds {total} bytes, at most {most} are read")
    return max(1, min(_ROWS, PORTION_BYTES // widest))
