"""Files packed with gzip or Zstandard, expanded as they are read.

A packed file of some kilobytes may stand for gigabytes. So the bytes that come out are bounded by
those that went in; no log of requests packs as well as that. The reader bounds them as a whole.
"""

from __future__ import annotations

import gzip
import io
import zlib
from typing import IO, Protocol

FREE_BYTES = 16 * 1024**2  # come out of any file
RATIO = 200  # beyond these; JSON of k6, the most wordy, packs to a fortieth
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_STEP = 64 * 1024


class _Reads(Protocol):
    """What gives bytes, at most as many as are asked for."""

    def read(self, size: int, /) -> bytes: ...


class PackedError(ValueError):
    """What is packed cannot be expanded, or into far too much."""


def expanded(file: IO[bytes]) -> IO[bytes]:
    """The file, or what is packed in it; its first bytes say which.

    Raises (while it is read, too):
        PackedError: it is damaged, or expands beyond the bounds.
    """
    head = file.read(len(_ZSTD))
    file.seek(0)
    if head.startswith(_GZIP):
        return io.BufferedReader(_Expanding(gzip.GzipFile(fileobj=file), file), _STEP)
    if head == _ZSTD:
        return io.BufferedReader(_Expanding(_zstd(file), file), _STEP)
    return file


def _zstd(file: IO[bytes]) -> _Reads:
    import pyarrow as pa  # noqa: PLC0415 - commands that read no such file start without it

    stream: _Reads = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
    return stream


class _Expanding(io.RawIOBase):
    """What comes out of a packed file, as long as that is in proportion to what goes in."""

    def __init__(self, inner: _Reads, packed: IO[bytes]) -> None:
        self._inner, self._packed, self._out = inner, packed, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            piece = self._inner.read(min(len(buffer), _STEP))
        except (EOFError, OSError, zlib.error, ValueError) as error:
            what = f"it cannot be unpacked, because it is damaged or cut short: {error}"
            raise PackedError(what[:300]) from error
        buffer[: len(piece)] = piece
        self._out += len(piece)
        went_in = self._packed.tell()
        if self._out > FREE_BYTES and self._out > RATIO * went_in:
            what = f"{went_in:,} packed bytes expand to more than {RATIO} times as many"
            raise PackedError(what)
        return len(piece)
