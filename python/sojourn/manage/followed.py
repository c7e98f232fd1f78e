"""A file of windows that its writer begins anew, as `2> FILE` and log rotation do."""

from __future__ import annotations

import contextlib
import os
import stat

from sojourn.manage.source import Source, opened


class Followed(Source):
    """Reads what has come; from its begin on where the file is shorter than what was read.

    So it does where another file has the name and a text by now, once the one before is read to its
    end.
    """

    __slots__ = ()

    def read(self, t_s: float) -> None:
        """Take what has come since the last look."""
        with contextlib.suppress(OSError):  # a pipe has no place
            at = os.lseek(self._handle, 0, os.SEEK_CUR)
            if os.fstat(self._handle).st_size < at:
                os.lseek(self._handle, 0, os.SEEK_SET)
                self._rest = b""
        super().read(t_s)
        with contextlib.suppress(OSError):  # no file has the name now
            self._follow()

    def _follow(self) -> None:
        now, old = os.stat(self.path), os.fstat(self._handle)  # noqa: PTH116  # at each look
        if (now.st_dev, now.st_ino) == (old.st_dev, old.st_ino):
            return
        if stat.S_ISREG(now.st_mode) and not now.st_size:
            return  # its writer may have the one before open for ever
        is_plain = stat.S_ISREG(old.st_mode)
        if not is_plain or os.lseek(self._handle, 0, os.SEEK_CUR) >= old.st_size:
            self.take(opened(self.path))
