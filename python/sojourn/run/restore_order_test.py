"""What was set last is put back first, because a kernel may refuse the steps in another order."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sojourn.host.tree import Tree
from sojourn.knobs import settings
from sojourn.knobs.settings import TEXT, Setting
from sojourn.knobs.testing import put
from sojourn.run import moving

MOST, LEAST = "/sys/most", "/sys/least"


def test_bounds_that_were_both_raised_are_lowered_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The order of `frequency = "max:3GHz+min:2.5GHz"`, as `restore` finds it after kill -9."""
    tree, way = Tree(tmp_path), settings.WAYS[TEXT]
    put(tmp_path, MOST, "30")
    put(tmp_path, LEAST, "25")

    def write(setting: Setting, level: str, tree: Tree) -> None:
        bounds = {path: tree.number(path) or 0 for path in (MOST, LEAST)} | {
            setting.path: int(level)
        }
        if bounds[LEAST] > bounds[MOST]:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        way.write(setting, level, tree)

    monkeypatch.setitem(settings.WAYS, TEXT, way._replace(write=write))
    changed = [
        Setting(kind=TEXT, what=path, path=path, old=old, new=new)
        for path, old, new in ((MOST, "15", "30"), (LEAST, "10", "25"))
    ]
    assert moving.restore(changed, 0, tree) == ()
    assert (tree.text(MOST), tree.text(LEAST)) == ("15", "10")
