"""Parts of a page that are unpacked when they are seen: gzip in base64.

Sibling files would be smaller by a quarter, but a page is one file that can be mailed; and a page
from disk may not fetch. Browsers unpack gzip by themselves (DecompressionStream, since 2023 in all
of them); until then a pack is text that costs nothing to parse.
"""

from __future__ import annotations

import base64
import gzip
import json


def packed(value: object) -> str:
    """JSON of a value, packed; the same value gives the same text."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode()


def unpacked(text: str) -> object:
    """What was packed.

    >>> unpacked(packed({"a": [1, None]}))
    {'a': [1, None]}
    """
    result: object = json.loads(gzip.decompress(base64.b64decode(text)))
    return result
