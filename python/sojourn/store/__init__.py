"""Results on disk: append-only, point by point, resumable, queryable."""

from sojourn.store.find import open_record as open  # noqa: A004 - read as store.open
from sojourn.store.find import read, records, resolve
from sojourn.store.lock import is_live
from sojourn.store.record import OpenRecord, Record
from sojourn.store.sql import query

__all__ = ["OpenRecord", "Record", "is_live", "open", "query", "read", "records", "resolve"]
