"""What writes a report in one format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sojourn.findings.findings import Findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """One format.

    Attributes:
        name: as `--export NAME=FILE` has it.
        about: what the file holds, in a few words.
        content: findings → the bytes of the file; it runs within `parts.using`.
        needs: the package of `sojourn.extras` without which it cannot be written; "": none.
    """

    name: str
    about: str
    content: Callable[[Findings], bytes]
    needs: str = ""
