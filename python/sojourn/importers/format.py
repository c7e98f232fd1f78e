"""What reads files of one format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sojourn.importers.file import File
from sojourn.importers.series import Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a reader gets beside the file.

    Attributes:
        unit_ns: of the values of a format that does not say it; None: not typed.
    """

    unit_ns: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format.

    Attributes:
        name: as `--format NAME` has it.
        about: which file of which tool, in a few words.
        is_it: whether the first bytes of a file look like it.
        read: file, options → what was measured.
    """

    name: str
    about: str
    is_it: Callable[[str], bool]
    read: Callable[[File, Options], list[Series]]
