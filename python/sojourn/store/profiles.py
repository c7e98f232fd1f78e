"""Profiles of the studies of records, without the models that check a study.

A study that was read in full once is not read again: its text decides whether it is the same.
Another version of the lab reads each study anew.
"""

from __future__ import annotations

import json
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from sojourn import disk
from sojourn.disk import cache
from sojourn.errors import Fault
from sojourn.spec.text import read_stored
from sojourn.store import answers
from sojourn.store.record import STUDY, Record


class Profiles:
    """Profiles of the records of one folder."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._seen: dict[str, str] = {}

    def of(self, path: Path) -> str:
        """The profile of a record's study.

        Raises:
            Fault: the study cannot be read.
        """
        digest = _digest(path)
        profile = self._known.get(digest)
        if profile is None:
            profile = Record(path).study.run.profile
            if digest != _digest(path):  # written anew meanwhile
                return profile
        if digest:
            self._seen[digest] = profile
        return profile

    def keep(self) -> None:
        """Store what was seen for the next command, if any of it is new."""
        if self._seen.keys() - self._known.keys():
            cache.keep(self._key, json.dumps(self._seen).encode())

    @cached_property
    def _key(self) -> str:
        return f"profiles\n{disk.real(self._results)}\n{answers.code()}"

    @cached_property
    def _known(self) -> dict[str, str]:
        text = cache.load(self._key)
        known: dict[str, str] = json.loads(text) if text else {}
        return known


def _digest(path: Path) -> str:
    """Of the text of a record's study; "" if it cannot be read."""
    try:
        text = read_stored(path / STUDY)
    except Fault:
        return ""
    return blake2b(text.encode(errors="surrogateescape"), digest_size=16).hexdigest()
