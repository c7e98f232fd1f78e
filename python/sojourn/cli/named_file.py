"""A page or file for CI under the name that the user typed, a link or device too."""

from __future__ import annotations

import os
from pathlib import Path

from sojourn.errors import SpecFault


def write(path: Path, text: str, *, is_more: bool = False) -> None:
    """Write a text; `is_more`: behind what is there.

    Raises:
        SpecFault: the file cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if is_more else os.O_TRUNC)
    try:
        with os.fdopen(os.open(path, flags, 0o666), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise SpecFault(
            f"cannot write: {error.strerror}", at=str(path), fix="give another file"
        ) from None
