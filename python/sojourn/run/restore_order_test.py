"""What was set last is put back first, because a kernel may refuse another order."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sojourn import knobs
from sojourn.host.tree import Tree
from sojourn.knobs import Turned, settings
from sojourn.knobs.settings import TEXT, Setting
from sojourn.knobs.testing import MemoryBook, put
from sojourn.places import network
from sojourn.run import moving
from sojourn.run.journal_test import write
from sojourn.run.restore import restore

MOST, LEAST = "/sys/most", "/sys/least"


def kernel(least: str, most: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse a least, at some path, that would be more than the most beside it."""
    way = settings.WAYS[TEXT]

    def write(setting: Setting, level: str, tree: Tree) -> None:
        at = os.path.dirname(setting.path)  # noqa: PTH120  # as text
        paths = (f"{at}/{least}", f"{at}/{most}")
        low, high = (int(level if p == setting.path else tree.number(p) or 0) for p in paths)
        if low > high:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        way.write(setting, level, tree)

    monkeypatch.setitem(settings.WAYS, TEXT, way._replace(write=write))


@pytest.mark.parametrize(
    "level",
    ["max:5GHz+min:4GHz", "min:4GHz+max:5GHz", "min:1GHz+max:2GHz", "max:2GHz+min:1GHz"],
)
def test_bounds_are_set_and_put_back_in_an_order_that_the_kernel_takes(
    level: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """However they are typed: both are above those that were, or both are below."""
    at, book = "/sys/devices/system/cpu/cpu0/cpufreq", MemoryBook()
    before = {"scaling_governor": "x", "scaling_min_freq": "2500000", "scaling_max_freq": "3500000"}
    for name, text in before.items():
        put(tmp_path, f"{at}/{name}", text)
    kernel("scaling_min_freq", "scaling_max_freq", monkeypatch)
    on = Turned(label="web", leader=os.getpid(), book=book, tree=Tree(tmp_path))
    knob = knobs.KINDS["frequency"].build(on)
    knob.apply(level)
    ghz = {name: on.tree.number(f"{at}/scaling_{name}_freq") for name in ("min", "max")}
    asked = dict(part.split(":") for part in level.split("+"))
    assert {name: f"{(khz or 0) // 1_000_000}GHz" for name, khz in ghz.items()} == asked
    knob.restore()
    assert {name: on.tree.text(f"{at}/{name}") for name in before} == before
    assert not book.open


def test_bounds_that_were_both_raised_are_lowered_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The order of `frequency = "max:3GHz+min:2.5GHz"`, as `restore` finds it after kill -9."""
    tree = Tree(tmp_path)
    put(tmp_path, MOST, "30")
    put(tmp_path, LEAST, "25")
    kernel("least", "most", monkeypatch)
    changed = [
        Setting(kind=TEXT, what=path, path=path, old=old, new=new)
        for path, old, new in ((MOST, "15", "30"), (LEAST, "10", "25"))
    ]
    assert moving.restore(changed, 0, tree) == ()
    assert (tree.text(MOST), tree.text(LEAST)) == ("15", "10")


def test_what_a_sandbox_lets_no_one_look_at_keeps_nothing_else_from_being_undone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without netlink (RestrictAddressFamilies=), `restore` failed, and so did every later run."""

    def refuse(_: object) -> bool:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(network, "is_there", refuse)
    folder = tmp_path / "sojourn-0011223344556677"
    folder.mkdir()
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    link = {"event": "link", "entry": 2, "name": "sojourn-0011b", "mac": "02:00:00:00:00:01"}
    path = write(state, {"event": "folder", "entry": 1, "path": str(folder)}, link)
    refused, *others = restore(state)
    assert "cannot be undone here: Operation not permitted" in refused.how
    assert not refused.is_done
    assert not folder.exists()
    assert [one.is_done for one in others] == [True]
    assert path.exists(), "it is tried again where that is allowed"
