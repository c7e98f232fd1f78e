"""What several generators wrote beside their results → one file: interval logs, raw requests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from sojourn import disk
from sojourn.errors import RunFault

ROWS = 64_000_000  # as many requests as a run keeps at most
BYTES = 256 * 1024**2  # of an interval log: a line a second, of some kilobytes
Key: TypeAlias = tuple[str, str, str]  # of a slice: tag, start, length


def merge_hlog(parts: Sequence[Path], into: Path) -> None:
    """One interval log: slices of the same start, length and tag are added up.

    All began at one instant and are cut alike; a slice that one process has not, because it ended
    sooner, is that of the others.

    Raises:
        RunFault: one cannot be read, is too long, or has a line that is none of such a log.
    """
    head: list[str] = []
    slices: dict[Key, list[tuple[str, str]]] = {}  # where each histogram is, and its text
    for path in parts:
        for at, line, own in entries(path, BYTES):
            if own is None:
                head += [line] if path == parts[0] else []
                continue
            key, text = own
            slices.setdefault(key, []).append((at, text))
    order = sorted(slices, key=lambda key: float(key[1]))
    whole = [_line(key, slices[key]) for key in order]
    disk.keep_text(into, "\n".join([*head, *whole]) + "\n")


def entries(path: Path, most: int) -> Iterator[tuple[str, str, tuple[Key, str] | None]]:
    """Each line of an interval log: where it is, its text, its slice; None: it is of the head.

    Raises:
        RunFault: as `merge_hlog`.
    """
    with readable(str(path)):
        lines = disk.read_text(path, most=most).splitlines()
    for number, line in enumerate(lines, 1):
        at, own = f"{path}:{number}", None
        if line[:1] not in ("#", '"', ""):
            with readable(at):
                own = slice_of(line)
        yield at, line, own


@contextlib.contextmanager
def readable(at: str) -> Iterator[None]:
    """Turn what a damaged file raises into a RunFault; a client may have written anything."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, NotImplementedError) as error:
        raise RunFault(
            f"what a client wrote cannot be read: {error}",
            at=at,
            fix="run the study again: it resumes",
        ) from None


def slice_of(line: str) -> tuple[Key, str]:
    """The key and the histogram of a line; ValueError if it has none."""
    tag, rest = "", line
    if line.startswith("Tag="):
        tag, _, rest = line.partition(",")
    try:
        start, length, _, text = rest.split(",", 3)
        float(start), float(length)
    except ValueError:
        raise ValueError("this is no line of an interval log") from None
    return (tag, start, length), text.strip()


def _line(key: Key, parts: Sequence[tuple[str, str]]) -> str:
    from sojourn.actors.clients import hdr  # noqa: PLC0415  # one process has nothing to add

    tag, start, length = key
    total = hdr.added(())
    for at, text in parts:
        with readable(at):
            hdr.add(total, text)
    # The largest in ms, as the generator writes it.
    words = (start, length, f"{total.get_max_value() / 1e6:.3f}", total.encode().decode())
    return ",".join((*((tag,) if tag else ()), *words))


def merge_raw(parts: Sequence[Path], into: Path) -> None:
    """Raw requests of all, in order of intended arrival; `thread` counts on from one to the next.

    Each process kept a uniform sample of its equal share of the load, so all of them is one of all.

    Raises:
        RunFault: one cannot be read, or has not the columns of a generator's.
    """
    import pyarrow as pa  # noqa: PLC0415  # few runs keep raw requests, and it is slow to import
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    tables, first = [], 0
    for path in parts:
        with readable(str(path)):
            table = disk.read_columns(path, rows=ROWS, values=ROWS)
            threads = pc.add(table["thread"], pa.scalar(first, table["thread"].type))
            tables.append(table.set_column(table.column_names.index("thread"), "thread", threads))
            first = max(first, (pc.max(threads).as_py() or 0) + 1)
    with readable(str(parts[0].parent)):
        whole = pa.concat_tables(tables).sort_by("intended_ns")
    disk.keep_whole(into, lambda file: pq.write_table(whole, file, compression="zstd"))
