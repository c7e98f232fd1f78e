"""Raw requests (`raw.parquet`), in order of intended arrival: a uniform sample beyond the cap."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sojourn import disk
from sojourn.errors import StoreFault

if TYPE_CHECKING:
    import pyarrow as pa

NEEDED = ["intended_ns", "done_ns", "outcome", "excluded"]
HIT = "hit"
ROWS = 64_000_000  # as many requests as a run keeps at most


def sojourn_ns(path: Path) -> NDArray[np.float64] | None:
    """Sojourn times, ns, in order of intended arrival; None if none were stored."""
    ndarrays = requests(path)
    return None if ndarrays is None else ndarrays[1]


def requests(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Intended arrivals and sojourn times, ns, in order of the former; None if none were stored.

    Requests in outages of the client are left out, by the generator's own log (M27). One that did
    not end as it should is `inf`, as in the result's order statistics.
    """
    if not path.is_symlink() and not path.exists():
        return None
    import pyarrow as pa  # noqa: PLC0415 - commands that read no raw requests start without it
    import pyarrow.compute as pc  # noqa: PLC0415

    try:
        table = disk.read_columns(path, rows=ROWS, values=ROWS, columns=NEEDED)
        return _counted(table.filter(pc.invert(table["excluded"])))
    except MemoryError:  # one of Arrow's errors too
        raise disk.no_memory(path) from None
    except (OSError, pa.ArrowException, LookupError, ValueError, TypeError) as error:
        raise StoreFault(
            f"raw requests cannot be read: {error}",
            at=str(path),
            fix="remove the file: only the test of independence is lost",
        ) from None


def _counted(counted: pa.Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same of the rows that count."""
    import pyarrow.compute as pc  # noqa: PLC0415

    intended = counted["intended_ns"].to_numpy().astype(np.float64)
    done = counted["done_ns"].to_numpy(zero_copy_only=False).astype(np.float64)
    hit = pc.equal(counted["outcome"], HIT).to_numpy(zero_copy_only=False).astype(np.bool_)
    sojourn = np.where(hit & np.isfinite(done), done - intended, np.inf)
    order = np.argsort(intended, kind="stable")
    return intended[order], np.asarray(sojourn[order], np.float64)
