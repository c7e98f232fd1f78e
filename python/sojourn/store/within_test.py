"""The bound on memory holds while a query runs, and not after it.

Each case runs in a process of its own, because one that gets no more memory may just end.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAD = """
import contextlib, resource
from sojourn.store import within
def limit():
    return resource.getrlimit(resource.RLIMIT_AS)
before = limit()
"""
HOLDS = """
with within.within(50 << 20):
    assert 0 < limit()[0] <= within._taken() + (50 << 20) + within.SPARE_BYTES
    try:
        bytearray((51 << 20) + within.SPARE_BYTES)
    except MemoryError:
        print("refused")
assert limit() == before
"""
AFTER_A_FAULT = """
with contextlib.suppress(ZeroDivisionError), within.within(50 << 20):
    1 / 0
assert limit() == before
print("lifted")
"""
TIGHTER = """
resource.setrlimit(resource.RLIMIT_AS, (within._taken() + (300 << 20), before[1]))
own = limit()
with within.within(1 << 40):
    assert limit() == own
assert limit() == own
print("stays")
"""
UNKNOWN = """
within._taken = lambda: 0
with within.within(1):
    assert limit() == before
assert within.of_machine() > 1 << 20
print("free")
"""


@pytest.mark.parametrize(
    ("code", "word"),
    [(HOLDS, "refused"), (AFTER_A_FAULT, "lifted"), (TIGHTER, "stays"), (UNKNOWN, "free")],
)
def test_the_limit_holds_within_and_not_afterwards(code: str, word: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HEAD + code],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    assert (done.returncode, done.stdout.strip()) == (0, word), done.stderr
