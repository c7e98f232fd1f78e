"""Whether a record may have copies of points: by their names, then by contents.

A list of records asks this of every point, so it reads no columns. Which ones are copies, `index`
says.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from sojourn import disk
from sojourn.errors import Fault
from sojourn.store.named import OUTCOME, are_of_lab

COMPARED_BYTES = 64 * 1024  # an outcome of the lab has some 10 kB


def may_be(points: Path, names: Iterable[str]) -> bool:
    """Whether two folders share number or key, or have the same outcome to the byte.

    An outcome has the key of its point, when that was measured, and the name of its folder, so two
    points of the lab never have the same one. A copy has it, whatever its folder is called.

    Args:
        points: the folder of a record's points.
        names: of their folders.
    """
    every = list(names)
    return not are_of_lab(every) or _are_alike(points, every)


def _are_alike(points: Path, names: Sequence[str]) -> bool:
    by_size: dict[int, list[Path]] = defaultdict(list)
    for name in names:
        with suppress(OSError):
            file = points / name / OUTCOME
            by_size[os.lstat(file).st_size].append(file)
    return any(_have_twins(files) for files in by_size.values() if len(files) > 1)


def _have_twins(files: Sequence[Path]) -> bool:
    digests = set()
    for file in files:
        with suppress(OSError, Fault):  # whoever reads it whole says what is wrong with it
            digest = _digest(file)
            if digest in digests:
                return True
            digests.add(digest)
    return False


def _digest(file: Path) -> bytes:
    """Of what a file begins with; OSError, RunFault as `disk.opened` raises them."""
    handle = disk.opened(file)
    try:
        return blake2b(os.pread(handle, COMPARED_BYTES, 0)).digest()
    finally:
        os.close(handle)
