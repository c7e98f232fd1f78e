"""A thread or process of a running program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One thread or process of a running program."""

    pid: int
    tid: int
    name: str
    command: str
