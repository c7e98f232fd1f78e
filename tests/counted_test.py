"""`scripts/counted`: what tests did not look at is reported, and nothing of theirs is changed."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

COUNTED = Path(__file__).parents[1] / "scripts" / "counted"
RUN = """
echo out
echo 'skipped: a: no right' >&2; echo 'skipped: b: no right' >&2
echo 'unknown: c: never calm' >&2; echo 'what was skipped: nothing' >&2
exit 7
"""


def test_it_counts_says_why_and_hands_on() -> None:
    done = subprocess.run([COUNTED, "sh", "-c", RUN], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, "out\n")
    assert "what was skipped: nothing\n" in done.stderr
    lines = done.stderr.partition("looked at nothing: ")[2].splitlines()
    assert lines[0] == "2 skipped, 1 unknown"
    assert [line.split(maxsplit=1) for line in lines[1:]] == [
        ["2", "skipped: no right"],
        ["1", "unknown: never calm"],
    ]


def test_it_sums_up_the_programs_of_cargo() -> None:
    line = "test result: {}. {} passed; {} failed; 1 ignored; 0 measured; 2 filtered out; finished"
    lines = f"{line.format('ok', 12, 0)}\n{line.format('FAILED', 3, 2)}"
    done = subprocess.run([COUNTED, "echo", lines], capture_output=True, text=True, check=True)
    assert done.stdout == f"{lines}\n"
    assert done.stderr.splitlines()[0] == "15 passed, 2 failed, 2 ignored in 2 programs"


PANIC = """---- a::b stdout ----

thread 'a::b' (17) panicked at crates/x/src/y.rs:9:5:
4 of 5 (the machine lost 0.010)
note: run with `RUST_BACKTRACE=1`
"""
WHY = "failed: a::b: 4 of 5 (the machine lost 0.010) (crates/x/src/y.rs:9:5)"


def test_why_a_test_failed_is_repeated_and_stored_for_the_end_of_all(tmp_path: Path) -> None:
    stored = tmp_path / "failed"
    done = subprocess.run(
        [COUNTED, "echo", PANIC],
        env={**os.environ, "SOJOURN_FAILED": str(stored)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == WHY
    assert stored.read_text() == f"{WHY}\n"


def test_where_all_was_looked_at_it_says_so() -> None:
    done = subprocess.run([COUNTED, "true"], capture_output=True, text=True, check=True)
    assert done.stderr == "looked at nothing: 0 skipped, 0 unknown\n"


def test_it_ends_with_its_command_though_a_program_that_it_left_holds_its_output() -> None:
    left = "sleep 600 & echo $!; echo 'skipped: a: no right' >&2; exit 3"
    done = subprocess.run([COUNTED, "sh", "-c", left], capture_output=True, text=True, check=False)
    os.kill(int(done.stdout), signal.SIGKILL)
    assert done.returncode == 3
    assert "looked at nothing: 1 skipped, 0 unknown\n" in done.stderr
