"""How much memory an item takes in memcached, by the sizes of its chunks."""

from __future__ import annotations

import math

# Bytes around key and value: item header 48, CAS 8, line ends and zero 3 (items.c, memcached.h).
ITEM_HEADER_BYTES = 59
SLAB_WASTE = 1.25  # chunk sizes grow by a factor of 1.25 (-f): an item fills at least 1/1.25 of one
PAGE_BYTES = 1 << 20
CHUNK_BYTES_MAX = PAGE_BYTES // 2
HASH_BYTES_PER_ITEM = 16  # bucket pointers; the table doubles at 1.5 items per bucket


def item_bytes(key_bytes: int, value_bytes: int) -> int:
    """Memory that one item takes at most, hash table included.

    An item lies in a chunk of the next larger class, and a page of 1 MiB holds whole chunks only;
    what is larger than half a page is cut into pieces (slabs.c, items.c).
    """
    pieces, rest = divmod(key_bytes + value_bytes + ITEM_HEADER_BYTES, CHUNK_BYTES_MAX)
    chunk = min(math.ceil(rest * SLAB_WASTE), CHUNK_BYTES_MAX)
    share = math.ceil(PAGE_BYTES / (PAGE_BYTES // chunk)) if chunk else 0
    return pieces * CHUNK_BYTES_MAX + share + HASH_BYTES_PER_ITEM
