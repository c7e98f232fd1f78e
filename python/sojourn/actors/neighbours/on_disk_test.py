"""A neighbour of a disk has its files on a disk, as many as there is room for."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import programs
from sojourn.actors import neighbours
from sojourn.actors.actor import Role
from sojourn.actors.kind import named
from sojourn.actors.neighbours import noise, on_disk
from sojourn.disk import tables
from sojourn.errors import AbsentFault

TEXTS = ("fio:read,where=server,size=100MiB", "noise:disk@50MB/s,where=server,size=100MiB")


def actor(text: str) -> Any:
    result = named(neighbours.KINDS, text, key="neighbour")
    assert result is not None
    return result[1]


@pytest.fixture(name="mounted")
def _mounted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A table of mounts; in it everything is on a disk but what is below /tmpfs."""
    table = tmp_path / "mountinfo"
    table.write_text("1 0 0:1 / / rw - ext4 x rw\n")
    monkeypatch.setattr(tables, "MOUNTS", table)
    monkeypatch.setattr(programs, "find", lambda name, fix="": Path(f"/usr/bin/{name}"))
    return table


@pytest.mark.usefixtures("mounted")
@pytest.mark.parametrize("text", TEXTS)
def test_files_of_all_copies_together_take_a_quarter_of_the_disk(
    text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    free = SimpleNamespace(f_bavail=1000, f_frsize=1 << 20)
    monkeypatch.setattr(os, "statvfs", lambda _: free)
    made = actor(f"{text},folder={tmp_path}")
    made.check_copies(1)
    made.check_room({Role.SERVICE: (1, 2), Role.NEIGHBOUR: ()})
    with pytest.raises(AbsentFault, match="300 MiB for 3 files"):
        made.check_room({Role.SERVICE: (1, 2, 3), Role.NEIGHBOUR: ()})


@pytest.mark.parametrize("text", TEXTS)
def test_a_folder_in_memory_is_no_disk(text: str, mounted: Path, tmp_path: Path) -> None:
    """It takes direct access since Linux 6.6, so a study of a disk ran in memory."""
    made = actor(f"{text},folder={tmp_path}")
    made.check_copies(1)
    mounted.write_text(f"{mounted.read_text()}2 1 0:2 / {tmp_path} rw - tmpfs x rw\n")
    with pytest.raises(AbsentFault, match="tmpfs is memory") as caught:
        made.check_copies(1)
    assert caught.value.fix == "give folder= one on the disk that is meant"


def test_an_antagonist_takes_a_disk_where_temporary_files_are_in_memory(
    mounted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, other = tmp_path / "memory", tmp_path / "other"
    memory.mkdir()
    other.mkdir()
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(memory))
    monkeypatch.setattr(on_disk, "OTHERS", (str(other),))
    made = actor("noise:disk@50MB/s")
    assert f"--param=folder={memory}" in noise.argv(made._params)
    mounted.write_text(f"{mounted.read_text()}2 1 0:2 / {memory} rw - tmpfs x rw\n")
    assert f"--param=folder={other}" in noise.argv(made._params)
    assert not any("folder" in word for word in noise.argv(actor("noise:cpu")._params))


@pytest.mark.usefixtures("mounted")
def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.touch(mode=0o777)
    with pytest.raises(AbsentFault, match="is not there"):
        actor(f"fio:read,folder={path}").check_copies(1)
