"""Parts of a page that are unpacked when they are seen: gzip in base64.

Sibling files would be smaller by a quarter, but a page is one file that can be mailed; and a page
from disk may not fetch. Browsers unpack gzip by themselves (DecompressionStream, since 2023 in all
of them); until then a pack is text that costs nothing to parse.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence


def packed(value: object) -> str:
    """JSON of a value, packed; the same value gives the same text."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()


def columns(rows: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Rows column by column, which packs into two thirds; page.js makes rows of them again.

    >>> columns([{"a": 1, "b": None}, {"a": 2}])
    {'columns': {'a': [1, 2], 'b': [None, None]}, 'count': 2, 'lacks': {'b': [1]}}
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    lacks = {name: [at for at, row in enumerate(rows) if name not in row] for name in names}
    return {
        "columns": {name: [row.get(name) for row in rows] for name in names},
        "count": len(rows),
        "lacks": {name: places for name, places in lacks.items() if places},
    }


def unpacked(text: str) -> object:
    """What was packed.

    >>> unpacked(packed({"a": [1, None]}))
    {'a': [1, None]}
    """
    result: object = json.loads(gzip.decompress(base64.b64decode(text)))
    return result
