"""Which mount a path lies on, of those that the kernel lists."""

from __future__ import annotations

from collections.abc import Iterable

from sojourn.disk.tables import Mount


def innermost(every: Iterable[Mount], path: str) -> Mount | None:
    """The mount that a path lies on; None: none of them is above it.

    Args:
        every: the mounts, the oldest first.
        path: absolute, without links.
    """
    best: Mount | None = None
    for mount in every:
        is_inner = best is None or len(mount.point) >= len(best.point)
        if is_inner and is_below(path, mount.point):  # of equals the last hides others
            best = mount
    return best


def is_below(path: str, mount: str) -> bool:
    """Whether a path is a mount's point, or lies below it.

    >>> is_below("/tmp/a", "/tmp"), is_below("/tmpfs", "/tmp"), is_below("/a", "/")
    (True, False, True)
    """
    return mount in {"/", path} or path.startswith(f"{mount.rstrip('/')}/")
