"""Raw requests: as many as a study may ask for are read again."""

from __future__ import annotations

import pyarrow as pa

from sojourn.disk.columns import TABLE_BYTES
from sojourn.samples import raw
from sojourn.spec.run import RAW_MOST


def test_as_many_raw_requests_as_a_study_may_ask_for_can_be_read_and_joined() -> None:
    row = pa.table(
        {name: [1] for name in ("intended_ns", "sent_ns", "first_byte_ns", "done_ns", "item")}
        | {name: pa.array([1], pa.int32()) for name in ("thread", "connection", "bytes")}
        | {"op": ["get"], "outcome": ["hit"], "excluded": [False]}
    )
    assert 64 + RAW_MOST <= raw.ROWS, "each of 64 clients may round up"
    assert RAW_MOST * sum(_bytes(column.type) for column in row.schema) < TABLE_BYTES


def _bytes(kind: pa.DataType) -> float:
    """Of a value in memory, with its bit of validity; texts are of three letters, such as `hit`."""
    return 1 / 8 + (4 + 3 if kind == pa.string() else kind.bit_width / 8)
