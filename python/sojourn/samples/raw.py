"""Raw requests (`raw.parquet`), in order of intended arrival: a uniform sample beyond the cap."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sojourn.errors import StoreFault

NEEDED = ("intended_ns", "done_ns")


def sojourn_ns(path: Path) -> NDArray[np.float64] | None:
    """Sojourn times, ns, in order of intended arrival; `inf` if lost; None if none were kept."""
    if not path.exists():
        return None
    try:
        table = pq.read_table(path, columns=list(NEEDED))
    except (OSError, pa.ArrowInvalid, KeyError) as error:
        raise StoreFault(
            f"raw requests cannot be read: {error}",
            at=str(path),
            fix="remove the file: only the test of independence is lost",
        ) from None
    intended = table["intended_ns"].to_numpy().astype(np.float64)
    done = table["done_ns"].to_numpy(zero_copy_only=False).astype(np.float64)
    sojourn = np.where(np.isfinite(done) & (done > 0), done - intended, np.inf)
    return np.asarray(sojourn[np.argsort(intended, kind="stable")], np.float64)
