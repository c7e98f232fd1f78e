"""The n-th write, fsync, open or rename fails, for every n of a small study: what remains is true.

The machine is simulated, the files are real. `pytest -s` prints a table of what became of each.
SOJOURN_FAULTS_EVERY=4 lets each fourth fail, FAULT_FIRST=2 begins with the second; the gate tries
four in all.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import Exit
from sojourn.testing import is_bug

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("turn")]

HERE = Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
LENGTH = 3 * 8 + 4096
EVERY = int(os.environ.get("SOJOURN_FAULTS_EVERY", "67"))  # 1: every call, in half an hour
is_asked_for = pytest.mark.skipif(
    "SOJOURN_FAULTS_EVERY" not in os.environ, reason="minutes long: set SOJOURN_FAULTS_EVERY"
)


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None:
        pytest.skip("needs a C compiler")
    made = tmp_path_factory.mktemp("shim") / "faults.so"
    words = [COMPILER, "-shared", "-fPIC", "-O1", "-o", str(made), str(HERE / "faults.c"), "-ldl"]
    subprocess.run(words, check=True)
    return made


def lines(
    shim: Path, folder: Path, error: int, every: int, calls: str = "files"
) -> list[dict[str, Any]]:
    """What became of each n; the first is without a fault."""
    shared = folder / "shared"
    shared.write_bytes(bytes(LENGTH))
    env = {
        **os.environ,
        "LD_PRELOAD": str(shim),
        "FAULT_FILE": str(shared),
        "FAULT_BELOW": str(folder / "results"),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "SOJOURN_STATE": str(folder / "state"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "FAULT_CALLS": calls,
        **({} if calls == "files" else {"FAULT_LATE": "1"}),
    }
    words = [sys.executable, str(HERE / "faults.py"), "simulated", str(folder), str(error)]
    done = subprocess.run(
        [*words, str(every)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def whole(points: dict[str, Any]) -> set[str]:
    """The points that were measured, whichever try it was."""
    return {key.partition("~")[0] for key, (_, requests, _) in points.items() if requests}


def agrees(found: dict[str, Any], sound: dict[str, Any], what: str) -> None:
    """A point is as it would have been, or unknown without a number, or a later try."""
    for key, outcome in found.items():
        is_failed = outcome == ["unknown", 0, None]
        assert is_failed or "~" in key or outcome == sound[key], f"{what}\n{key}: {outcome}"


@pytest.mark.parametrize(
    ("error", "every"),
    [(errno.ENOSPC, EVERY), pytest.param(errno.EIO, 3 * EVERY, marks=is_asked_for)],
    ids=["full", "broken"],
)
def test_whatever_call_fails_nothing_is_told_that_is_not_so_and_it_goes_on(
    shim: Path, tmp_path: Path, error: int, every: int
) -> None:
    sound, *each = lines(shim, tmp_path, error, every)
    table = judged(sound, each)
    told(f"errno {errno.errorcode[error]}, each {every}.", sound, table)
    assert any(code == Exit.FAILED for _, code in table), "nothing failed: the faults do not reach"


@is_asked_for
@pytest.mark.parametrize("calls", ["memory", "clock"])
def test_without_memory_and_by_a_clock_that_jumps_it_is_the_same(
    shim: Path, tmp_path: Path, calls: str
) -> None:
    """An hour on, from the n-th look at the clock; a large piece of memory that cannot be had."""
    error, every = {"memory": (errno.ENOMEM, 40 * EVERY), "clock": (3600, 8 * EVERY)}[calls]
    sound, *each = lines(shim, tmp_path, error, every, calls)
    table = judged(sound, each, is_exact=False)
    told(f"{calls}, each {every}.", sound, table)
    if calls == "clock":
        assert {code for _, code in table} == {sound["code"]}, "no number rests on the time of day"


def told(what: str, sound: dict[str, Any], table: Counter[tuple[str, int]]) -> None:
    rows = (
        f"  {call or 'clock':<10} exit {code}: {n}" for (call, code), n in sorted(table.items())
    )
    sys.stdout.write("\n".join(["", f"{what} of {sound['calls']} calls:", *rows, ""]))


def judged(
    sound: dict[str, Any], each: list[dict[str, Any]], *, is_exact: bool = True
) -> Counter[tuple[str, int]]:
    """How often which call ended how; nothing is told that is not so, and it goes on.

    Args:
        sound: the run in which nothing fails.
        each: what became of each n.
        is_exact: every run makes the same calls, so each n is reached.
    """
    assert sound["code"] in {Exit.OK, Exit.VIOLATED, Exit.UNKNOWN}
    assert sound["calls"] > 20
    assert sound["left"]["parts"] == []
    table: Counter[tuple[str, int]] = Counter()
    for one in each:
        what = f"n = {one['n']}: {one['call']}: {one['err']}"
        table[one["call"].partition(" ")[0], one["code"]] += 1
        assert one["call"] or not is_exact, "the call was not reached"
        assert one["code"] in {sound["code"], Exit.FAILED, Exit.UNKNOWN}, what
        assert not is_bug(one["err"]), what
        assert "Traceback" not in one["err"], what
        if one["code"] == Exit.FAILED:
            assert "fix:" in one["err"], what
        kept = one["left"]
        assert kept["parts"] == [], what
        agrees(kept["points"], sound["left"]["points"], what)
        if one["code"] == sound["code"]:
            assert whole(kept["points"]) >= whole(sound["left"]["points"]), what
            assert kept["complete"][-1:] == [True], what
        assert one["again"] == sound["code"], f"{what}\n{one['again_err']}"
        agrees(one["then"]["points"], sound["left"]["points"], what)
        assert whole(one["then"]["points"]) >= whole(sound["left"]["points"]), what
        assert True in one["then"]["complete"], what
        assert one["then"]["page"], what
        assert one["then"]["parts"] == [], what
    return table
