"""Recorded looks: equal bytes give equal bytes; what is bad is a fault."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn.controllers import KINDS, Look, replay
from sojourn.controllers.named import rule
from sojourn.controllers.testing import look
from sojourn.errors import Fault, HostFault, RunFault, SpecFault

HALF = """
import json, sys
for line in sys.stdin:
    look = json.loads(line)
    p99s = [w["p99_ns"] for g in look["groups"].values() for w in g["windows"]]
    late = any(p99 is not None and p99 > 1e6 for p99 in p99s)
    change = {"group": "batch", "knob": "quota", "level": 0.5, "reason": "late"}
    print(json.dumps({"changes": [change] if late else []}), flush=True)
"""


def recorded(count: int) -> Iterator[bytes]:
    """A service that is sometimes late, as looks that were recorded."""
    draw = random.Random(30)  # noqa: S311
    for i in range(count):
        p99_ms = draw.lognormvariate(-0.4, 0.5)
        one = look(
            i / 10,
            p99_ms,
            n=200,
            above=round(4 * p99_ms),
            host={"cpu": draw.uniform(2, 8)},
            web_has={
                "load": draw.uniform(0.2, 0.9),
                "cpu": draw.uniform(1, 4),
                "runq_delay_ms": draw.expovariate(2),
                "throttled": float(draw.random() < 0.2),
            },
            batch_has={"cpu": draw.uniform(0, 4)},
        )
        yield one.model_dump_json().encode() + b"\n"


def replayed(name: str, lines: list[bytes]) -> list[str]:
    with rule(name, {}) as ready:
        result = replay.decisions(replay.looks(lines, "made up"), ready)
        return [replay.as_line(one, decision) for one, decision in result]


@pytest.mark.parametrize("name", KINDS)
def test_a_replay_gives_the_same_bytes(name: str) -> None:
    lines = list(recorded(400))
    first = replayed(name, lines)
    assert first == replayed(name, lines)
    assert len(first) == 400
    has_changed = any('"changes": []' not in line for line in first)
    assert has_changed == (name not in {"null", "static", "ream"})


@pytest.mark.parametrize("name", KINDS)
def test_a_service_that_is_missing_for_a_while_ends_no_replay(name: str) -> None:
    lines = []
    for i in range(200):
        one = look(
            i / 10,
            1.5,
            n=200,
            above=20,
            host={"cpu": 4.0},
            web_has={"load": 0.5, "cpu": 1.0, "runq_delay_ms": 0.0, "throttled": 0.0},
            batch_has={"cpu": 2.0},
        )
        if not (i == 3 or 80 <= i < 140):
            groups = {"db": one.groups["web"], **one.groups}
            one = one.model_copy(update={"groups": groups})
        lines.append(one.model_dump_json().encode() + b"\n")
    assert len(replayed(name, lines)) == 200


def test_a_program_decides_over_json_lines() -> None:
    lines = list(recorded(30))
    result = replayed(f"program:{sys.executable} -c '{HALF}'", lines)
    late = ["late" in line for line in result]
    assert 0 < sum(late) < 30
    assert late == [(one.groups["web"].windows[0].p99_ns or 0) > 1e6 for one in looks(lines)]


def looks(lines: list[bytes]) -> Iterator[Look]:
    return replay.looks(lines, "made up")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("pass", "has ended"),
        ("import time; time.sleep(60)", "did not answer within 1 s"),
        ("input(); print('no json', flush=True); input()", "answered what is no decision"),
        (
            'input(); print(\'{"changes": [{"group": "x", "knob": "rm"}]}\', flush=True); input()',
            "answered what is no decision: changes.0.knob",
        ),
    ],
)
def test_a_program_that_fails_is_a_fault(tmp_path: Path, code: str, says: str) -> None:
    (tmp_path / "bad.py").write_text(code)
    with pytest.raises(RunFault, match=says):
        replayed(f"program:{sys.executable} {tmp_path / 'bad.py'}", list(recorded(2)))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"{", "this is no look"),
        (b'{"t_s": 1, "cpus": 2}', "groups: Field required"),
        (b'{"t_s": NaN, "cpus": 2, "groups": {}}', "this is no look"),
        (b'{"t_s": 1, "cpus": 2, "groups": {}, "extra": 1}', "extra: Extra inputs"),
        (b'{"t_s": "1", "cpus": 2, "groups": {}}', "t_s: Input should be a valid number"),
        (b"[" * 100_000, "this is no look"),
        (b" " * 2 + b"x" * (replay.LINE_BYTES + 1), "has more than"),
    ],
)
def test_a_bad_line_is_named(line: bytes, says: str) -> None:
    good = next(recorded(1))
    with pytest.raises(SpecFault, match=says) as caught:
        list(replay.looks([good, line], "looks.jsonl"))
    assert caught.value.at == "looks.jsonl, line 2"


def refused(act: Callable[[], object]) -> Fault:
    with pytest.raises((SpecFault, HostFault)) as caught:
        act()
    return caught.value


def test_a_name_or_a_constant_that_there_is_not_is_refused() -> None:
    assert "did you mean parties?" in str(refused(lambda: rule("partys", {})))
    assert "did you mean rest?" in str(refused(lambda: rule("parties", {"rst": 1.0})))
    assert "there is no command" in str(refused(lambda: rule("program:", {})))


@pytest.mark.parametrize("name", [name for name, one in KINDS.items() if one.needs])
def test_a_controller_is_refused_where_what_it_needs_is_missing(name: str) -> None:
    one = KINDS[name]
    one.check(one.needs)
    for missing in one.needs:
        fault = refused(lambda: one.check(set(one.needs) - {missing}))  # noqa: B023
        assert name in fault.what
        assert fault.fix
