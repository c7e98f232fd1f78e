"""What several generators wrote beside their results → one file: interval logs, raw requests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sojourn import disk
from sojourn.actors.clients import hdr

ROWS = 64_000_000  # as many requests as a run keeps at most


def merge_hlog(parts: Sequence[Path], into: Path) -> None:
    """One interval log: slices of the same start, length and tag are added up.

    All began at one instant and are cut alike; a slice that one process has not, because it ended
    sooner, is that of the others.
    """
    head: list[str] = []
    order: list[tuple[str, str, str]] = []
    slices: dict[tuple[str, str, str], list[str]] = {}
    for path in parts:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line[:1] in ("#", '"', ""):
                head += [line] if path == parts[0] else []
                continue
            tag, rest = "", line
            if line.startswith("Tag="):
                tag, _, rest = line.partition(",")
            start, length, _, text = rest.split(",", 3)
            if (tag, start, length) not in slices:
                order.append((tag, start, length))
            slices.setdefault((tag, start, length), []).append(text.strip())
    lines = [_line(key, slices[key]) for key in sorted(order, key=lambda key: float(key[1]))]
    disk.keep_text(into, "\n".join([*head, *lines]) + "\n")


def _line(key: tuple[str, str, str], texts: Sequence[str]) -> str:
    tag, start, length = key
    total = hdr.added(texts)
    # The largest in ms, as the generator writes it.
    words = (start, length, f"{total.get_max_value() / 1e6:.3f}", total.encode().decode())
    return ",".join((*((tag,) if tag else ()), *words))


def merge_raw(parts: Sequence[Path], into: Path) -> None:
    """Raw requests of all, in order of intended arrival; `thread` counts on from one to the next.

    Each process kept a uniform sample of its equal share of the load, so all of them is one of all.
    """
    import pyarrow as pa  # noqa: PLC0415  # few runs keep raw requests, and it is slow to import
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    tables, first = [], 0
    for path in parts:
        table = disk.read_columns(path, rows=ROWS, values=ROWS)
        threads = pc.add(table["thread"], pa.scalar(first, table["thread"].type))
        tables.append(table.set_column(table.column_names.index("thread"), "thread", threads))
        first = max(first, (pc.max(threads).as_py() or 0) + 1)
    whole = pa.concat_tables(tables).sort_by("intended_ns")
    disk.keep_whole(into, lambda file: pq.write_table(whole, file, compression="zstd"))
