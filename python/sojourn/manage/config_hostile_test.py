"""Odd configurations are refused in a short fault, at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Self

import pytest

from sojourn.errors import SpecFault
from sojourn.manage import config as configs
from sojourn.manage.config_test import GOOD, read

LONG = "a" * 5000


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('cgroup = "/web"', f'cgroup = "/{LONG}"', "groups.web.cgroup: a text has at most"),
        ('target = "1ms"', f'target = "{LONG}"', "groups.web.target: a text has at most"),
        ('controller = "posterior"', f'controller = "program:{LONG}"', "controller: a text has"),
        ("rest_s = 60", f"{LONG} = 60", "constants: a text has at most"),
        ("rest_s = 60", f'{LONG}.b = "c"', "constants: a text has at most"),
        ("[groups.batch]", f"[groups.{LONG}]", "groups: a text has at most"),
        ("[groups.batch]", '[groups.batch]\ntraits = ["a\\u001b[2J"]', "groups.batch.traits: a "),
        ('file = "/run/web.jsonl"', 'file = "/run/\\u0000"', "windows.file: a text has no control"),
        ('cgroup = "/web"', 'cgroup = "/w\\u009beb"', "groups.web.cgroup: a text has no control"),
        ("[constants]", '["\\u001b[2J"]\n[constants]', "the configuration: a text has no control"),
        ("rest_s = 60", f"rest_s = 1{'0' * 400}", "constants: a number is too large"),
        ("rest_s = 60", "rest_s = 1e999", "constants.rest_s: Input should be a finite number"),
        ("every_ms = 50", f"every_ms = 1{'0' * 400}", "every_ms: "),
        ("safe_quota = 0.1", f"safe_quota = 1{'0' * 400}", "safe_quota: Input should be a valid"),
        ('target = "1ms"', 'target = "2h"', "the target must be above 0, and at most 1h"),
        ('target = "1ms"', 'target = "1e300s"', "is not a time"),
        ("every_ms = 50", 'audit = "/run/web.jsonl"', "are different files"),
        ("every_ms = 50", 'audit = "/a"\nrecord = "/a"', "audit, record and windows.file are"),
        (
            'file = "/run/web.jsonl"',
            f'tracer = "all"\nports = [{", ".join(["1"] * 65)}]',
            "windows.ports: Tuple should have at most 64",
        ),
    ],
)
def test_a_hostile_value_is_refused_with_its_key_in_few_words(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    assert old in GOOD
    with pytest.raises(SpecFault) as caught:
        read(tmp_path, GOOD.replace(old, new))
    assert says in caught.value.what
    assert len(caught.value.what) < 300
    assert caught.value.what.isprintable()


@pytest.mark.parametrize("path", ["/" + "a" * 4000, "/é/テスト\u3000x", "/a b"])
def test_what_a_path_may_be_is_taken(tmp_path: Path, path: str) -> None:
    text = read(tmp_path, GOOD.replace('cgroup = "/web"', f'cgroup = "{path}"'))
    assert text.groups["web"].cgroup == path


def test_a_thousand_groups_are_compared_by_their_parents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not each with each other, which is a million times."""
    asked = 0

    class Counted(PurePosixPath):
        @property
        def parents(self) -> Sequence[Self]:
            nonlocal asked
            asked += 1
            return super().parents

    monkeypatch.setattr(configs, "PurePosixPath", Counted)
    more = "".join(f'[groups.b{i}]\nrole = "best-effort"\ncgroup = "/b{i}"\n' for i in range(1000))
    assert len(read(tmp_path, GOOD + more).groups) == 1002
    assert 0 < asked <= 1002


def test_a_file_of_any_size_is_refused_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    with path.open("wb") as file:
        file.truncate(100 << 20)
    for is_again in (False, True):
        with pytest.raises(SpecFault, match="bytes"):
            configs.read(path, is_again=is_again)
    with pytest.raises(SpecFault, match="Is a directory"):
        configs.read(tmp_path)
    with pytest.raises(SpecFault, match="it is not a plain file"):
        configs.read(tmp_path, is_again=True)


def test_a_pipe_is_read_at_the_start_and_never_waited_for_later(tmp_path: Path) -> None:
    """`--config <(…)` is one. A manager that waits for it looks after nothing."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(GOOD,), daemon=True)
    writer.start()
    assert configs.read(path).every_ms == 50
    writer.join(20)
    with pytest.raises(SpecFault, match="it is not a plain file"):
        configs.read(path, is_again=True)
    link = tmp_path / "link"
    (tmp_path / "plain").write_text(GOOD)
    link.symlink_to(tmp_path / "plain")
    assert configs.read(link, is_again=True) == configs.read(link)
