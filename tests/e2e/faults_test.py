"""The n-th call of a kind fails in a small study, on a simulated machine: what remains is true.

The files are real. `bench/faults.py` tries every n and prints the table; here each 67th call that
writes fails. SOJOURN_FAULTS_EVERY=4 lets each fourth fail, and others than those that write.
"""

from __future__ import annotations

import errno
import os
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn.errors import Exit

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("turn")]

faulty = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("faulty.py"))))
EVERY = int(os.environ.get("SOJOURN_FAULTS_EVERY", "67"))  # 1: every call, in half an hour
HOUR_S = 3600
is_asked_for = pytest.mark.skipif(
    "SOJOURN_FAULTS_EVERY" not in os.environ, reason="minutes long: set SOJOURN_FAULTS_EVERY"
)


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if faulty.COMPILER is None:
        pytest.skip("needs a C compiler")
    return faulty.shim(tmp_path_factory.mktemp("shim"))


@pytest.mark.parametrize(
    ("calls", "error", "every"),
    [
        ("files", errno.ENOSPC, EVERY),
        pytest.param("files", errno.EIO, 3 * EVERY, marks=is_asked_for),
        pytest.param("opens", errno.EMFILE, 10 * EVERY, marks=is_asked_for),
        pytest.param("memory", errno.ENOMEM, 40 * EVERY, marks=is_asked_for),
        pytest.param("clock", HOUR_S, 1, marks=is_asked_for),
        pytest.param("clock", -HOUR_S, 1, marks=is_asked_for),
    ],
    ids=["full", "broken", "too many files", "no memory", "an hour later", "an hour earlier"],
)
def test_whatever_call_fails_nothing_is_told_that_is_not_so_and_it_goes_on(
    shim: Path, tmp_path: Path, calls: str, error: int, every: int
) -> None:
    asked = faulty.Asked(calls=calls, error=error, every=every)
    sound, *rows = faulty.simulated(shim, tmp_path, asked)
    assert sound["code"] in faulty.VERDICTS
    assert sound["calls"] > (1 if calls == "clock" else 20)
    assert sound["left"]["parts"] == []
    for row in rows:
        assert row["reached"] or calls in {"memory", "clock"}, "every run makes the same calls"
        faulty.check(sound, row)
    sys.stdout.write(faulty.text(f"{calls}, {error}", sound["calls"], rows))
    codes = {row["code"] for row in rows}
    if calls == "files":
        assert Exit.FAILED in codes, "nothing failed: the faults do not reach"
    if calls == "clock":
        assert codes == {sound["code"]}, "no number rests on the time of day"
