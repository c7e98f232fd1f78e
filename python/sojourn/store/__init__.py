"""Results on disk: append-only, point by point, resumable, queryable.

Each name is loaded when it is asked for, because a database takes a third of a second to load.
What removes records is in `store.remove`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import late

if TYPE_CHECKING:
    from sojourn.store.answers import Texts
    from sojourn.store.find import last, prepare, read
    from sojourn.store.find import open_record as open  # noqa: A004 - read as store.open
    from sojourn.store.listing import Listed, listed
    from sojourn.store.lock import is_live
    from sojourn.store.named import records, resolve
    from sojourn.store.record import OpenRecord, Record, keep_answer, keep_left_out, left_out_of
    from sojourn.store.sql import query

__all__ = [
    "Listed",
    "OpenRecord",
    "Record",
    "Texts",
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
    "resolve",
]

__getattr__ = late.names(
    __name__,
    {
        "answers": ["Texts"],
        "find": ["last", "open_record as open", "prepare", "read"],
        "listing": ["Listed", "listed"],
        "lock": ["is_live"],
        "named": ["records", "resolve"],
        "record": ["OpenRecord", "Record", "keep_answer", "keep_left_out", "left_out_of"],
        "sql": ["query"],
    },
)
