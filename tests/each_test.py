"""`scripts/each`: a command that fails stops no other, and its end says which failed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

EACH = Path(__file__).parents[1] / "scripts" / "each"


def each(*words: str) -> tuple[int, str, list[str]]:
    """Exit code, stdout, and the closing lines without their times."""
    done = subprocess.run([EACH, *words], capture_output=True, text=True, check=False)
    lines = [re.sub(r"^ *\d+ min \d\d s  ", "", line) for line in done.stderr.splitlines()]
    return done.returncode, done.stdout, lines


def test_what_follows_a_failure_runs_and_the_end_says_what_failed() -> None:
    code, out, lines = each("echo one; exit 7", "echo two", "false")
    assert (code, out) == (1, "one\ntwo\n")
    assert lines[-3:] == [
        "echo one; exit 7: FAILED (exit 7)",
        "echo two: passed",
        "false: FAILED (exit 1)",
    ]


def test_the_outermost_prints_why_rusts_tests_failed_at_its_end(tmp_path: Path) -> None:
    fails = tmp_path / "fails"
    fails.write_text('#!/bin/sh\necho "$1 failed" >> "$SOJOURN_FAILED"\nexit 1\n')
    fails.chmod(0o700)
    variables = {key: value for key, value in os.environ.items() if key != "SOJOURN_FAILED"}
    variables["TMPDIR"] = str(tmp_path)
    words = [EACH, f"{EACH} --beside '{fails} inner' true", f"{fails} outer"]
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-2:]) == (1, ["inner failed", "outer failed"])
    assert done.stderr.count("inner failed") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["fails"], "its file is removed"


def test_where_all_pass_it_does() -> None:
    code, out, lines = each("--by", "echo part", "a", "b")
    assert (code, out) == (0, "part a\npart b\n")
    assert lines[-2:] == ["a: passed", "b: passed"]


def test_ctrl_c_ends_all_of_it_though_the_command_obeys_in_its_own_way() -> None:
    first = "trap 'exit 0' INT; echo up; while :; do sleep 0.02; done"
    words = ["env", "--default-signal=INT", EACH, first, "echo went on"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as made:
        assert made.stdout is not None
        assert made.stdout.readline() == "up\n"
        os.killpg(made.pid, signal.SIGINT)
        assert (made.stdout.read(), made.wait()) == ("", 130)


def test_beside_one_another_they_run_at_once_and_each_output_is_one_piece(tmp_path: Path) -> None:
    there = [tmp_path / name for name in ("a", "b")]
    until = "touch {}; echo begun; until [ -e {} ]; do sleep 0.02; done; echo ended; exit {}"
    words = [until.format(*there, 0), until.format(*reversed(there), 7)]
    code, out, lines = each("--beside", *words)
    assert (code, out) == (1, "begun\nended\n" * 2)
    assert [line.rpartition(": ")[2] for line in lines[-2:]] == ["passed", "FAILED (exit 7)"]


def test_ctrl_c_ends_all_that_run_beside_one_another(tmp_path: Path) -> None:
    loop = "echo $$ > {}; while :; do sleep 0.02; done"
    there = [tmp_path / name for name in ("a", "b")]
    words = ["env", "--default-signal=INT", EACH, "--beside", *(loop.format(at) for at in there)]
    with subprocess.Popen(words, start_new_session=True) as made:
        while not all(at.exists() and at.read_text() for at in there):
            assert made.poll() is None
            time.sleep(0.02)
        os.killpg(made.pid, signal.SIGINT)
        assert made.wait() == 130
    for at in there:
        with pytest.raises(ProcessLookupError):
            os.kill(int(at.read_text()), 0)


def test_where_ctrl_c_is_ignored_it_stays_so_beside_others() -> None:
    ignored = "grep -i sigign /proc/self/status"
    words = ["env", "--ignore-signal=INT", EACH, "--beside", ignored]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[1], 16) & 1 << signal.SIGINT - 1
    words[1] = "--default-signal=INT"
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert not int(done.stdout.split()[1], 16) & 1 << signal.SIGINT - 1
