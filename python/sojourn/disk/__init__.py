"""The two doors to files: what the lab writes, and what it reads of others' files.

Root works with folders that other people fill: records that were sent, results in somebody's home.
So there is one writer (`whole`) and one reader (`foreign`, and `columns` for Parquet), and
`doors_test` refuses every other way to open a file.

    write_whole, write_text, append   a file that is there in full or not at all; never by a link
    keep_json, keep_text              the same, with the fault of a run that cannot write
    read_bytes, read_text, read_json  a plain file of bounded size and depth; never by a link
    read_named                        a file that the user has named, of bounded size
    lines_named                       its lines, one after the other, expanded if packed
    read_columns                      a Parquet file of bounded rows and bytes
    claim                             a folder that is written: no link takes its name
    tables                            tables of the kernel, in which names stand that anybody chose
    tree                              folders as deep as anybody made them: looked through, removed

What is obeyed (journals, programs that were fetched) lies in folders that are no one else's
(`doubt`).
"""

from __future__ import annotations

from sojourn.disk import tables, tree
from sojourn.disk.columns import read_columns, read_schema
from sojourn.disk.expanded import PackedError
from sojourn.disk.foreign import (
    JSON_BYTES,
    depth_of,
    folders_in,
    is_file,
    is_plain,
    lines_named,
    opened,
    parsed,
    read_bytes,
    read_json,
    read_named,
    read_text,
    reader,
    real,
)
from sojourn.disk.spent import check_spent, no_memory
from sojourn.disk.trust import OTHERS, base, doubt, home, with_home
from sojourn.disk.way import claim, folder, is_folder, is_own, make_folder
from sojourn.disk.whole import append, shut, write_text, write_whole
from sojourn.disk.writes import disk_fault, keep_json, keep_text, keep_whole

__all__ = [
    "JSON_BYTES",
    "OTHERS",
    "PackedError",
    "append",
    "base",
    "check_spent",
    "claim",
    "depth_of",
    "disk_fault",
    "doubt",
    "folder",
    "folders_in",
    "home",
    "is_file",
    "is_folder",
    "is_own",
    "is_plain",
    "keep_json",
    "keep_text",
    "keep_whole",
    "lines_named",
    "make_folder",
    "no_memory",
    "opened",
    "parsed",
    "read_bytes",
    "read_columns",
    "read_json",
    "read_named",
    "read_schema",
    "read_text",
    "reader",
    "real",
    "shut",
    "tables",
    "tree",
    "with_home",
    "write_text",
    "write_whole",
]
