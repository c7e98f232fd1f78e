"""A file of windows that its writer begins anew, as `2> FILE` does."""

from __future__ import annotations

import contextlib
import os

from sojourn.manage.source import Source


class Followed(Source):
    """Reads what has come; from its begin on where the file is shorter than what was read."""

    __slots__ = ()

    def read(self, t_s: float) -> None:
        """Take what has come since the last look."""
        with contextlib.suppress(OSError):  # a pipe has no place
            at = os.lseek(self._handle, 0, os.SEEK_CUR)
            if os.fstat(self._handle).st_size < at:
                os.lseek(self._handle, 0, os.SEEK_SET)
                self._rest = b""
        super().read(t_s)
