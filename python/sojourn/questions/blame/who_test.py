"""A suspect that shares its name with others is shown with process and script."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from sojourn.places import scripts
from sojourn.questions.blame import probe, tables
from sojourn.questions.blame.blames import Blames
from sojourn.questions.blame.files import Blamed, BlameFile, SuspectTable
from sojourn.questions.blame.randomisation import Contrast
from sojourn.questions.blame.suspects import Row, _processes, judged

EVIL = "a\n\x1b[2Jb.py"


def row(name: str, processes: tuple[tuple[int, str], ...]) -> Row:
    contrast = Contrast(
        with_ns=None,
        without_ns=None,
        ratio=None,
        interval=None,
        p=1.0,
        blocks=1,
        requests=1,
        refused="few",
    )
    return replace(judged(name, contrast, None, 1.1), processes=processes)


@pytest.mark.parametrize(
    ("name", "processes", "who"),
    [
        ("name:python", ((12, "train.py"), (34, "")), "name:python (pid 12: train.py, 34)"),
        ("cgroup:x", tuple((n, "") for n in range(5)), "cgroup:x (pid 0, 1, 2 and 2 more)"),
        ("name:python", ((7, EVIL),), "name:python (pid 7: a\\x0a\\x1b[2Jb.py)"),
        ("name:python", (), "name:python"),
        ("noise:cpu@60%", ((12, ""),), "noise:cpu@60%"),
    ],
)
def test_the_table_tells_processes_of_one_name_apart(
    name: str, processes: tuple[tuple[int, str], ...], who: str
) -> None:
    blames = Blames(rows=(row(name, processes),))
    assert [record["who"] for record in (*tables.rows(blames), *tables.costs(blames))] == [who, who]
    assert tables.rows(blames)[0]["suspect"] == name


def test_an_older_record_has_numbers_and_no_scripts() -> None:
    old = SuspectTable(name="name:java", pids=[5, 6])
    none = Blamed(file=BlameFile(suspects=[SuspectTable(name="name:java")]))
    assert _processes(0, [none, Blamed(file=BlameFile(suspects=[old]))]) == ((5, ""), (6, ""))
    assert _processes(1, [none]) == ()


def test_the_record_has_the_script_of_a_process_and_no_other_word(tmp_path: Path) -> None:
    at = tmp_path / "train.py"
    at.write_text("print('there', flush=True)\ninput()\n")
    words = [sys.executable, "-u", str(at), "--password", "secret"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        suspect = type("One", (), {"name": "name:python", "pids": (process.pid,)})()
        table = probe._suspect_json(cast("Any", suspect))
        process.kill()
    assert (table["pids"], table["scripts"]) == ([process.pid], ["train.py"])
    assert scripts.of_process(process.pid) == ""
    assert SuspectTable.model_validate(table).scripts == ["train.py"]
