"""A file of windows that its writer begins anew is read from its begin."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import HostFault
from sojourn.manage import config as configs
from sojourn.manage import feed
from sojourn.manage.config_test import GOOD
from sojourn.manage.followed import Followed


def line(n: int) -> str:
    return json.dumps({"length_ms": 100, "n": n, "above": 0}) + "\n"


def test_a_file_that_is_shorter_than_what_was_read_is_read_from_its_begin(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.touch()
    one = Followed(path, "web")
    one.open()
    path.write_text(line(5) * 9 + '{"length_ms": 1')
    one.read(1.0)
    assert one.windows("web", 1.0)[0].n == 5
    path.write_text(line(7))  # as `2>` does
    one.read(2.0)
    newest = one.windows("web", 2.0)[0]
    assert (newest.n, newest.age_ms, one.bad) == (7, 0, 0)
    with path.open("a") as file:
        file.write(line(8))
    one.read(3.0)
    assert one.windows("web", 3.0)[0].n == 8
    one.close()


def test_a_pipe_is_read_as_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    one = Followed(path, "web")
    one.open()
    writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.write(writer, line(5).encode())
    one.read(1.0)
    os.close(writer)
    assert one.windows("web", 1.0)[0].n == 5
    one.close()


def test_the_file_of_a_configuration_is_read_so(tmp_path: Path) -> None:
    path = tmp_path / "manage.toml"
    path.write_text(GOOD)
    one = feed.of(configs.read(path), {})
    assert isinstance(one, Followed)
    assert one.groups == frozenset({"web", "batch"})


def test_windows_of_others_take_no_memory_and_are_not_wrong(tmp_path: Path) -> None:
    """Several managers may read one file, and whoever writes it may name groups without end."""
    path = tmp_path / "lines"
    path.touch()
    one = Followed(path, "web", groups=frozenset({"web", "db"}))
    one.open()
    names = ["web", "db", *map(str, range(1000))]
    path.write_text("".join(line(5).replace("{", f'{{"service": "{name}", ') for name in names))
    one.read(1.0)
    assert [one.windows(name, 1.0) != () for name in ("web", "db", "7")] == [True, True, False]
    assert (len(one._came), one.bad) == (2, 0)
    one.close()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_file_that_is_renamed_is_read_to_its_end_and_then_the_one_that_has_its_name(
    tmp_path: Path,
) -> None:
    """As log rotation does; else no window would come until the next start."""
    path = tmp_path / "lines"
    path.touch()
    one = Followed(path, "web")
    one.open()
    with path.open("a") as old:
        old.write(line(5))
        old.flush()
        path.rename(tmp_path / "lines.1")
        one.read(1.0)
        assert one.windows("web", 1.0)[0].n == 5
        path.touch()  # as logrotate does by `create`
        one.read(1.5)
        old.write(line(6))
        old.flush()
        one.read(2.0)
        assert one.windows("web", 2.0)[0].n == 6, "its writer has it open still"
        old.write(line(7) + '{"length_ms"')
    path.write_text(line(8))
    one.read(3.0)
    assert one.windows("web", 3.0)[0].n == 7
    one.read(4.0)
    assert (one.windows("web", 4.0)[0].n, one.bad) == (8, 0)
    before = open_files()
    path.unlink()
    os.mkfifo(path)
    one.read(5.0)
    one.read(6.0)
    writer = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.write(writer, line(9).encode())
    one.read(7.0)
    os.close(writer)
    assert one.windows("web", 7.0)[0].n == 9
    assert open_files() == before
    one.close()


def test_a_folder_is_no_source(tmp_path: Path) -> None:
    before = open_files()
    with pytest.raises(HostFault, match="Is a directory"):
        Followed(tmp_path, "web").open()
    assert open_files() == before


def test_a_file_that_grows_is_looked_up_by_its_name_twice_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look-up costs as much as the reading; a file from which nothing comes is looked up."""
    path, looked = tmp_path / "lines", []
    path.touch()
    one, real = Followed(path, "web"), os.stat
    one.open()

    def stat(at: Any, *args: Any, **more: Any) -> os.stat_result:
        if at == path:
            looked.append(at)
        return real(at, *args, **more)

    monkeypatch.setattr(os, "stat", stat)
    with path.open("a") as file:
        for tick in range(10):
            file.write(line(tick + 1))
            file.flush()
            one.read(1.0 + tick / 10)
            assert one.windows("web", 2.0)[0].n == tick + 1
    assert len(looked) == 2
    one.read(2.0)
    assert len(looked) == 3
    one.close()
