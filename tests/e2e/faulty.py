"""Runs of a small study in each of which another call fails, and what is asked of every one.

`faults_test.py` (a simulated machine) and `refused_test.py` (a real one) try a sample, and
`bench/faults.py` every call.
"""

from __future__ import annotations

import json
import os
import random
import runpy
import shutil
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sojourn import questions, run, store
from sojourn.errors import Exit
from sojourn.run import journal
from sojourn.testing import is_bug

HERE = Path(__file__).parent
descent = SimpleNamespace(**runpy.run_path(str(HERE / "descent.py")))
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
VERDICTS = {Exit.OK, Exit.VIOLATED, Exit.UNKNOWN}
HEAD, LAST = struct.Struct("lll"), 4096
STUDY = """schema = "sojourn.study/1"
name = "small"
question = "What remains?"
aa = false
[run]
{run}
repeats = 1
fractions = [0.2]
peak_s = 0.2
peak_repeats = 1
[[services]]
kind = "memcached"
measure = ["sweep"]
{service}
[services.qos]
q = 0.99
bound = "{bound}"
"""


def of_simulated() -> str:
    """The small study where the machine is simulated."""
    return STUDY.format(run="measure_s = 0.2\nretries = 2", service="", bound="1ms")


def of_real(measure_s: float) -> str:
    """The small study where the machine is real: all of it is short, and nothing is retried."""
    run = f"measure_s = {measure_s}\nwarmup_s = 0.1\nretries = 0"
    service = "[services.params]\nitems = 500\n[services.load]\nconnections = 4"
    return STUDY.format(run=run, service=service, bound="500ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which calls fail, one a run.

    Attributes:
        calls: a kind of `faults.c`; pauses: the n-th tenth of a second, at which all is stopped.
        error: its errno; of the clock, the seconds by which it jumps; of a pause, its length, s.
        every, first, last: each so-manieth from `first` to `last`; last 0: to the end.
        sample, seed: so many of these, drawn with a seed; 0: all.
    """

    calls: str = "files"
    error: int
    every: int = 1
    first: int = 1
    last: int = 0
    sample: int = 0
    seed: int = 1

    def numbers(self, total: int) -> Sequence[int]:
        each = range(self.first, (self.last or total) + 1, self.every)
        if not 0 < self.sample < len(each):
            return each
        return sorted(random.Random(self.seed).sample(each, self.sample))  # noqa: S311 - no secret


class Shared:
    """What all processes of a run see: which call fails, and how many there were."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            path.write_bytes(bytes(HEAD.size + LAST))

    def set(self, at: int, error: int) -> None:
        """Let the call number `at` fail from now on; 0: none."""
        with self.path.open("r+b") as file:  # never shorter: it is mapped
            file.write(HEAD.pack(at, 0, error) + bytes(LAST))

    @property
    def count(self) -> int:
        """Calls so far."""
        return int(HEAD.unpack_from(self.path.read_bytes())[1])

    @property
    def last(self) -> str:
        """The call that failed, and on what."""
        return self.path.read_bytes()[HEAD.size :].partition(b"\0")[0].decode()


def shim(folder: Path) -> Path:
    """`faults.c`, compiled into `folder`."""
    made = folder / "faults.so"
    assert COMPILER is not None
    words = [COMPILER, "-shared", "-fPIC", "-O1", "-o", str(made), str(HERE / "faults.c"), "-ldl"]
    subprocess.run(words, check=True)
    return made


def environment(folder: Path) -> dict[str, str]:
    """Of a lab that keeps what it knows in `folder`; BLAS may start threads, as for a user."""
    return {
        **{name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"},
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SOJOURN_STATE": str(folder / "state"),
    }


def preloaded(library: Path, shared: Shared, asked: Asked, below: Path) -> dict[str, str]:
    """What lets calls fail in a process and in all that it starts."""
    return {
        "LD_PRELOAD": str(library),
        "FAULT_FILE": str(shared.path),
        "FAULT_BELOW": str(below),
        "FAULT_CALLS": asked.calls,
    }


def simulated(library: Path, folder: Path, asked: Asked) -> Iterator[dict[str, Any]]:
    """What became of each n on a simulated machine (`faults.py`); the first is without a fault."""
    shared = Shared(folder / "shared")
    is_file = asked.calls == "files"
    env = {
        **environment(folder),
        **preloaded(library, shared, asked, folder / "results" if is_file else folder),
        **({} if is_file else {"FAULT_LATE": "1"}),
    }
    words = [sys.executable, str(HERE / "faults.py"), str(folder), json.dumps(asdict(asked))]
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as made:
        assert made.stdout is not None
        for line in made.stdout:
            yield json.loads(line)
    assert made.returncode == 0


def words(folder: Path, measure_s: float = 0.3) -> list[str]:
    """A run of a study on this machine."""
    (folder / "small.toml").write_text(of_real(measure_s), encoding="utf-8")
    inputs = ["run", str(folder / "small.toml"), "--force", "--results", str(folder / "results")]
    return [sys.executable, "-m", "sojourn", *inputs]


def real(library: Path, folder: Path, asked: Asked) -> Iterator[dict[str, Any]]:
    """What became of each n on this machine; the first is without a fault.

    What lost its parent becomes a child of this process meanwhile, so that it is seen.
    """
    shared = Shared(folder / "shared")
    faulty = {} if asked.calls == "pauses" else preloaded(library, shared, asked, folder)

    def once(more: Mapping[str, str], pause: Any = None) -> tuple[int, str]:
        env = {**environment(folder), **more}
        code, message = descent.ran(words(folder), env, pause, known)
        return int(code), str(message)

    is_pause = asked.calls == "pauses"
    descent.adopt(is_so=True)
    known = descent.below(os.getpid())
    try:
        shared.set(0, 0)
        started = time.monotonic()
        code, message = once(faulty)
        total = int(10 * (time.monotonic() - started)) if is_pause else shared.count
        yield {"n": 0, "calls": total, "code": code, "err": message, "left": left(folder, known)}
        for number in asked.numbers(total):
            shutil.rmtree(folder / "results", ignore_errors=True)
            shared.set(0 if is_pause else number, asked.error)
            pause = descent.Pause(after_s=number / 10, length_s=asked.error) if is_pause else None
            code, message = once(faulty, pause)
            call = f"pause {' '.join(pause.names)}" if pause else shared.last or asked.calls
            row = {"n": number, "call": call, "code": code, "err": message}
            row["reached"] = bool(pause.names) if pause else shared.count >= number
            row["left"] = left(folder, known)
            again, message = once({})
            yield {**row, "again": again, "again_err": message, "then": left(folder, known)}
    finally:
        descent.adopt(is_so=False)


def left(folder: Path, known: Collection[int]) -> dict[str, Any]:
    """What a run leaves on this machine: processes, changes that were to be undone, the record."""
    still = descent.ended(known)
    undone = [str(one) for one in run.restore(folder / "state")]
    questions.catalogue()  # their keys stand in a record's study
    records = list(store.records(folder / "results")) if (folder / "results").is_dir() else []
    return {
        "running": still,
        "undone": undone,
        "journal": len(journal.read(folder / "state")),
        "complete": [store.read(path).is_complete for path in records],
        "parts": [path.name for path in (folder / "results").rglob("*.part")],
    }


def whole(points: Mapping[str, Any]) -> set[str]:
    """The points that were measured, whichever try it was."""
    return {key.partition("~")[0] for key, (_, requests, _) in points.items() if requests}


def agrees(results: Mapping[str, Any], sound: Mapping[str, Any], what: str) -> None:
    """A point is as it would have been, or unknown without a number, or a later try."""
    for key, outcome in results.items():
        is_failed = outcome == ["unknown", 0, None]
        assert is_failed or "~" in key or outcome == sound[key], f"{what}\n{key}: {outcome}"


def check(sound: Mapping[str, Any], one: Mapping[str, Any], *, is_exact: bool = True) -> None:
    """No false number is reported, nothing is left, and a second run goes on.

    Args:
        sound: the run in which nothing fails.
        one: what became of an n.
        is_exact: every run makes the same calls and gives the same numbers.

    Raises:
        AssertionError: it is otherwise; says how.
    """
    what = f"n = {one['n']}: {one['call']}: {one['err']}"
    codes = {sound["code"], Exit.FAILED, Exit.UNKNOWN} if is_exact else {*VERDICTS, Exit.FAILED}
    assert one["code"] in codes, what
    assert not is_bug(one["err"]), what
    assert "Traceback" not in one["err"], what
    if one["code"] == Exit.FAILED:
        assert "fix:" in one["err"], what
        assert "remove" not in one["err"], what  # a call that fails is no damage
    for retained in (one["left"], one["then"]):
        assert retained["parts"] == [], what
        assert retained["running"] == [], f"{retained['running']} run: {what}"
        assert retained["undone"] == [], f"{retained['undone']} was left: {what}"
        assert retained["journal"] == 0, what
    assert one["again"] in ({sound["code"]} if is_exact else VERDICTS), (
        f"{what}\n{one['again_err']}"
    )
    assert True in one["then"]["complete"], what
    if "points" in sound["left"]:
        _check_points(sound, one, what)


def _check_points(sound: Mapping[str, Any], one: Mapping[str, Any], what: str) -> None:
    wanted, retained = sound["left"]["points"], one["left"]
    agrees(retained["points"], wanted, what)
    if one["code"] == sound["code"]:
        assert whole(retained["points"]) >= whole(wanted), what
        assert retained["complete"][-1:] == [True], what
    agrees(one["then"]["points"], wanted, what)
    assert whole(one["then"]["points"]) >= whole(wanted), what
    assert one["then"]["page"], what


def table(rows: list[dict[str, Any]]) -> Counter[tuple[str, int]]:
    """How often which call ended how."""
    return Counter((one["call"].partition(" ")[0], one["code"]) for one in rows)


def text(what: str, total: int, rows: list[dict[str, Any]]) -> str:
    """The table for people."""
    lines = (
        f"  {call or '-':<10} exit {code}: {n}" for (call, code), n in sorted(table(rows).items())
    )
    return "\n".join(["", f"{what}, {len(rows)} of {total} calls:", *lines, ""])
