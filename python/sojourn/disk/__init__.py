"""The two doors to files: what the lab writes, and what it reads of others' files.

Root works with folders that other people fill: records that were sent, results in somebody's home.
So there is one writer (`whole`) and one reader (`foreign`, and `columns` for Parquet), and
`doors_test` refuses every other way to open a file.

    write_whole, write_text, append   a file that is there in full or not at all; never by a link
    keep_json, keep_text              the same, with the fault of a run that cannot write
    read_bytes, read_text, read_json  a plain file of bounded size and depth; never by a link
    read_columns                      a Parquet file of bounded rows and bytes
"""

from __future__ import annotations

from sojourn.disk.columns import read_columns
from sojourn.disk.foreign import (
    JSON_BYTES,
    depth_of,
    is_plain,
    opened,
    read_bytes,
    read_json,
    read_text,
    reader,
)
from sojourn.disk.kept import disk_fault, keep_json, keep_text, keep_whole
from sojourn.disk.way import folder, is_folder, is_own, make_folder
from sojourn.disk.whole import append, write_text, write_whole

__all__ = [
    "JSON_BYTES",
    "append",
    "depth_of",
    "disk_fault",
    "folder",
    "is_folder",
    "is_own",
    "is_plain",
    "keep_json",
    "keep_text",
    "keep_whole",
    "make_folder",
    "opened",
    "read_bytes",
    "read_columns",
    "read_json",
    "read_text",
    "reader",
    "write_text",
    "write_whole",
]
