"""Files as strangers may have made them: sound ones in which values, lines or bytes are others.

What is drawn has the form of the file (a value of its JSON, a column of its Parquet, a byte of its
text), because Hypothesis does not see the code that reads it.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

#: Values that a number, a text or a list may be in place of what it should be.
HOSTILE: st.SearchStrategy[object] = st.one_of(
    st.sampled_from(
        [
            None,
            True,
            -1,
            0,
            2**31,
            2**63,
            2**64,
            -(2**63),
            10**300,
            1e308,
            1e-320,
            "",
            "²",
            "٣",
            "\0",
            "\x1b[2J",
            "../../etc",
            "/etc/passwd",
            "1e999",
            "nan",
            "<script>",
            "a" * 5000,
            [],
            {},
            [[]],
            {"a": {}},
            [None],
            "9" * 5000,
            "0x" + "f" * 5000,
            "\ud800",
            "inf",
            "-",
            "~",
            "{}",
            "[1]",
        ]
    ),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.booleans(),
)


@contextlib.contextmanager
def nested(top: Path, levels: int) -> Iterator[None]:
    """Folders within folders below one that is there, and a file in the last.

    They are removed at the end by a program that goes as deep as it must: a test that fails leaves
    nothing that pytest cannot remove.
    """
    handle = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("a", dir_fd=handle)
        inner = os.open("a", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)
    try:
        yield
    finally:
        subprocess.run(["rm", "-rf", "--", str(top / "a")], check=True)


@st.composite
def bytes_like(draw: st.DrawFn, sound: bytes) -> bytes:
    """Bytes of which some are changed, put in or taken out, or which end too early."""
    result = bytearray(sound)
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, max(0, len(result) - 1)))
        match draw(st.integers(0, 4)):
            case 0:
                result[at : at + 1] = bytes([draw(st.integers(0, 255))])
            case 1:
                result[at:at] = draw(st.binary(max_size=8))
            case 2:
                del result[at : at + draw(st.integers(1, 40))]
            case 3:
                result[at:at] = result[max(0, at - draw(st.integers(1, 60))) : at]
            case _:
                result[at:at] = draw(
                    st.sampled_from([b"[" * 3000, b"9" * 5000, b"\xff", b"\n", b"a." * 3000])
                )
    return bytes(
        result[: draw(st.integers(0, len(result)))] if draw(st.integers(0, 9)) == 0 else result
    )


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Each value of a JSON document, as the part that holds it and its key."""
    for key in (
        tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    ):
        yield tree, key
        yield from places(tree[key])


@st.composite
def json_like(draw: st.DrawFn, sound: bytes) -> bytes:
    """A document with some values that are others, missing, or there twice; or damaged as bytes."""
    if draw(st.integers(0, 4)) == 0:
        return draw(bytes_like(sound))
    tree = json.loads(sound)
    for _ in range(draw(st.integers(1, 4))):
        if not (every := list(places(tree))):
            break
        inner, key = every[draw(st.integers(0, len(every) - 1))]
        match draw(st.integers(0, 5)):
            case 0:
                del inner[key]
            case 1 if isinstance(inner, list):
                inner.append(copy.deepcopy(inner[key]))
            case 2:
                inner[key] = [inner[key]]
            case _:
                inner[key] = draw(HOSTILE)
    return json.dumps(tree).encode()


@st.composite
def lines_like(draw: st.DrawFn, sound: bytes) -> bytes:
    """Lines of JSON, some of them damaged, in any order."""
    lines = sound.splitlines()
    chosen = draw(st.lists(st.sampled_from(lines), min_size=1, max_size=8))
    return (
        b"\n".join(draw(json_like(line)) if draw(st.booleans()) else line for line in chosen)
        + b"\n"
    )


@st.composite
def fields_like(draw: st.DrawFn, sound: bytes) -> bytes:
    """Lines of text, some with another value in a field, or missing, twice, or in another place."""
    if draw(st.integers(0, 4)) == 0:
        return draw(bytes_like(sound))
    lines = sound.split(b"\n")
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(lines) - 1))
        match draw(st.integers(0, 5)):
            case 0 if len(lines) > 1:
                del lines[at]
            case 1:
                lines.insert(draw(st.integers(0, len(lines))), lines[at])
            case _:
                fields = re.split(rb"([\s,;=:()%\"{}]+)", lines[at])
                field = 2 * draw(st.integers(0, len(fields) // 2))  # those between are separators
                fields[field] = str(draw(HOSTILE)).encode(errors="backslashreplace")
                lines[at] = b"".join(fields)
    return b"\n".join(lines)


@st.composite
def parquet_like(draw: st.DrawFn, sound: bytes) -> bytes:
    """A table with a column of other values, or damaged as bytes, often in its description."""
    if draw(st.integers(0, 2)) == 0:
        head, tail = sound[:-600], sound[-600:]
        return head + draw(bytes_like(tail))
    if draw(st.integers(0, 2)) == 0:
        return draw(bytes_like(sound))
    table = pq.read_table(io.BytesIO(sound))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, table.num_columns - 1))
        value = draw(HOSTILE)
        try:
            column = pa.array([value] * len(table))
        except (pa.ArrowException, OverflowError, UnicodeError):
            continue
        table = table.set_column(at, table.schema.names[at], column)
    out = io.BytesIO()
    with contextlib.suppress(pa.ArrowException):
        pq.write_table(table, out)
    return out.getvalue()
