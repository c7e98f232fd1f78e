"""Whoever dies after any step leaves enough to put all back (drawn by lot)."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from sojourn.host.tree import Tree
from sojourn.knobs import groups as knob_groups
from sojourn.knobs import settings
from sojourn.knobs.settings import Setting
from sojourn.knobs.testing import MemoryBook, put
from sojourn.manage.notes import CAP, Notes, Step
from sojourn.manage.testing import until

PERIOD, QUOTA = "/cpu.cfs_period_us", "/cpu.cfs_quota_us"
BEFORE = {PERIOD: "100000", QUOTA: "-1"}
TEXTS = {PERIOD: ("100000", "1000000"), QUOTA: ("-1", "5000", "7000", "9000")}


class Witness(MemoryBook):
    """A book after each line of which the manager may die."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root, self.deaths = root, 0
        self.steps: list[str] = []

    def note(self, kind: str, /, **facts: object) -> int:
        """Note something, and die."""
        number = super().note(kind, **facts)
        self.die(f"note {number}")
        return number

    def undone(self, entry: int) -> None:
        """Cross it out, and die."""
        super().undone(entry)
        self.die(f"undone {entry}")

    def die(self, step: str) -> None:
        """Undo all that is open on a copy of the files, as `restore` does: they are as before."""
        self.deaths += 1
        self.steps.append(step)
        grave = self.root / "grave"
        for path in BEFORE:
            put(grave, path, (self.root / path[1:]).read_text().strip())
        tree = Tree(grave)
        for _ in range(2):
            for _, facts in reversed(self.open.values()):
                for table in reversed(facts["settings"]):
                    settings.put_back(Setting.from_json(table), tree)
        assert {path: tree.text(path) for path in BEFORE} == BEFORE, self.steps[-8:]


@pytest.mark.parametrize("seed", range(4))
def test_after_any_step_the_journal_is_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Writes of the manager, some refused, and of its warden, which caps at any time."""
    draw, book, caps = random.Random(seed), Witness(tmp_path), list[Step]()  # noqa: S311

    def warden(steps: Sequence[Step]) -> None:
        for path, text in steps:
            put(tmp_path, path, text)
            book.die(f"warden {path} {text}")

    def write(tree: Tree, path: str, text: str) -> None:
        warden(caps if draw.random() < 0.2 else ())
        if draw.random() < 0.1:
            raise OSError(22, os.strerror(22))
        put(tree.root, path, text)
        book.die(f"write {path} {text}")

    for path, text in BEFORE.items():
        put(tmp_path, path, text)
    monkeypatch.setattr(knob_groups, "write", write)
    notes = Notes("batch", book, Tree(tmp_path))
    for _ in range(25):
        path = draw.choice(sorted(BEFORE))
        if draw.random() < 0.2:  # a reload may bring another cap
            caps[:] = [(one, draw.choice(texts)) for one, texts in TEXTS.items()]
            notes.note(CAP, caps)
            continue
        warden(caps if draw.random() < 0.1 else ())
        try:
            notes.write(path, draw.choice(TEXTS[path]))
        except OSError:
            continue
    caps.clear()  # it has ended
    assert until(lambda: not notes.restore()), "what was refused is tried again"
    assert {path: Tree(tmp_path).text(path) for path in BEFORE} == BEFORE
    assert not book.open
    assert book.deaths > 50
