"""What a method of analysis says about itself, for `sojourn kinds` and the reference."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method: one file.

    Attributes:
        name: the module's name.
        about: what it answers, in one line.
        ids: the requirements it meets (METHOD, PAPERS).
        source: where it comes from.
    """

    name: str
    about: str
    ids: tuple[str, ...]
    source: str
