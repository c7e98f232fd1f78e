"""Files are read whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn.host import reading
from sojourn.host.tree import Tree

NUMBERS = {
    "7\n": 7,
    "0": 0,
    str((1 << 64) - 1): (1 << 64) - 1,
    str(1 << 64): None,
    "9" * 5000: None,
    "-1": None,
    "+1": None,
    "1_0": None,
    "1 2": None,
    "": None,
    "Unavailable": None,
    "²": None,
}


@pytest.mark.parametrize("text", NUMBERS)
def test_a_file_is_a_number_or_unknown(tmp_path: Path, text: str) -> None:
    (tmp_path / "one").write_text(text)
    assert reading.number(Tree(tmp_path), "/one") == NUMBERS[text]


def test_a_file_that_is_too_large_or_is_none_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x" * 100)
    tree = Tree(tmp_path)
    assert reading.whole(tree, "/one", 100) == b"x" * 100
    assert reading.whole(tree, "/one", 99) is None
    assert reading.whole(tree, "/") is None, "it is a folder"
    assert reading.whole(tree, "/two") is None
    assert reading.inode(tree, "/one") == (tmp_path / "one").stat().st_ino
    assert reading.inode(tree, "/two") is None


def test_a_file_of_the_kernel_that_comes_in_pages_is_read_to_its_end() -> None:
    table = reading.whole(Tree(), "/proc/self/mountinfo", 1 << 24)
    assert table == Path("/proc/self/mountinfo").read_bytes()
    smaps = reading.whole(Tree(), "/proc/self/smaps", 1 << 26)
    assert smaps is not None
    assert smaps.count(b"VmFlags:") > 20
