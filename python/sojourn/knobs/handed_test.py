"""A controller is taken back, also where no group could be made (a fake)."""

from __future__ import annotations

import errno
import os

import pytest

from sojourn.host.tree import Tree
from sojourn.knobs import groups, handed
from sojourn.knobs.groups_test import Fake, book, fake, server
from sojourn.knobs.testing import MOUNT, MemoryBook

__all__ = ["book", "fake", "server"]


@pytest.mark.parametrize("refused", ["_mkdir", "write"])
def test_fake_v2_a_controller_is_taken_back_where_no_group_can_be_made(
    fake: Fake, book: MemoryBook, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    kernel, on = fake()
    before, act = kernel.snapshot(), getattr(groups, refused)

    def refuse(tree: Tree, path: str, *text: str) -> None:
        if text == ("+cpu",) or refused == "_mkdir":
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        act(tree, path, *text)

    monkeypatch.setattr(groups, refused, refuse)
    with pytest.raises(OSError, match="not permitted"):
        groups.hold(on, "cpu", "one")
    assert kernel.snapshot() == before
    assert not book.open


def test_fake_v2_a_controller_that_is_needed_yet_is_taken_back_later(
    fake: Fake, book: MemoryBook
) -> None:
    kernel, on = fake()
    before = kernel.snapshot()
    group = groups.hold(on, "cpu", "one")
    handed.take_back(on, groups.write)  # as where another hierarchy refuses a group
    assert kernel.tree.text(f"{MOUNT}/cgroup.subtree_control") == "cpu"
    groups.leave(on, group, "one")
    assert kernel.snapshot() == before
    assert not book.open
