"""Results on disk: append-only, point by point, resumable, queryable."""

from sojourn.store.find import last, prepare, read, records, resolve
from sojourn.store.find import open_record as open  # noqa: A004 - read as store.open
from sojourn.store.listing import Listed, listed
from sojourn.store.lock import is_live
from sojourn.store.record import OpenRecord, Record, keep_answer, keep_left_out, left_out_of
from sojourn.store.remove import drop_raw, remove
from sojourn.store.sql import query

__all__ = [
    "Listed",
    "OpenRecord",
    "Record",
    "drop_raw",
    "is_live",
    "keep_answer",
    "keep_left_out",
    "last",
    "left_out_of",
    "listed",
    "open",
    "prepare",
    "query",
    "read",
    "records",
    "remove",
    "resolve",
]
