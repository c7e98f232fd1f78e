"""A file of windows that its writer begins anew is read from its begin."""

from __future__ import annotations

import json
import os
from pathlib import Path

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
    assert isinstance(feed.of(configs.read(path), {}), Followed)
