"""A file of windows that its writer begins anew, as `2> FILE` and log rotation do."""

from __future__ import annotations

import contextlib
import math
import os
import stat
from dataclasses import dataclass

from sojourn.manage.source import Source, opened

FOLLOWED_S = 0.45  # between two looks at the name, while the file still grows


@dataclass(slots=True)
class Followed(Source):
    """Reads what has come; from its begin on where the file is shorter than what was read.

    So it does where another file has the name and a text by now, once the one before is read to its
    end.
    """

    _follow_s: float = -math.inf

    def read(self, t_s: float) -> None:
        """Take what has come since the last look."""
        before = self._size
        Source.read(self, t_s)  # `super()` does not know the class that slots make anew
        has_come = self._size > before
        if has_come and t_s < self._follow_s:
            return
        self._follow_s = t_s + FOLLOWED_S
        if not has_come and self._is_shorter():  # nothing comes from behind the end of a file
            Source.read(self, t_s)
        with contextlib.suppress(OSError):  # no file has the name now
            self._follow()

    def _is_shorter(self) -> bool:
        """Whether the file has less than what was read, which is read from its begin on then."""
        with contextlib.suppress(OSError):  # a pipe has no place
            at = os.lseek(self._handle, 0, os.SEEK_CUR)
            if os.fstat(self._handle).st_size < at:
                os.lseek(self._handle, 0, os.SEEK_SET)
                self._rest = b""
                return True
        return False

    def _follow(self) -> None:
        now, old = os.stat(self.path), os.fstat(self._handle)  # noqa: PTH116  # at each look
        if (now.st_dev, now.st_ino) == (old.st_dev, old.st_ino):
            return
        if stat.S_ISREG(now.st_mode) and not now.st_size:
            return  # its writer may have the one before open for ever
        is_plain = stat.S_ISREG(old.st_mode)
        if not is_plain or os.lseek(self._handle, 0, os.SEEK_CUR) >= old.st_size:
            self.take(opened(self.path))
