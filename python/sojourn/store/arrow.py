"""pyarrow without pandas.

Where pandas is installed, pyarrow loads it (0.2 s) at the first list that becomes an array, to see
whether pandas made the list. The lab gives it none of those, so pandas is hidden for that moment.
"""

from __future__ import annotations

import sys

import pyarrow as pa


class _Hidden:
    """A finder of modules by which there is no pandas."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Say so, as Python does."""
        del path, target
        if name == "pandas":
            raise ModuleNotFoundError("pandas is hidden", name=name)


def hide_pandas() -> None:
    """Let pyarrow find no pandas, unless it is loaded already; others find it as before."""
    if "pandas" in sys.modules:
        return
    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(hidden)
