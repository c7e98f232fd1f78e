"""The neighbour `noise`: how a study names it, and what is refused before it starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from sojourn import host, programs
from sojourn.actors import neighbours
from sojourn.actors.kind import named
from sojourn.actors.neighbours import noise
from sojourn.errors import SpecFault

has_program = pytest.mark.skipif(
    programs.maybe(noise.PROGRAM) is None, reason="sojourn-noise is not built"
)


def _words(text: str) -> tuple[str, ...]:
    result = named(neighbours.KINDS, text, key="neighbour")
    assert result is not None
    assert isinstance(result[1], noise.Noise)
    return noise.argv(result[1]._params)


@has_program
@pytest.mark.parametrize(
    "text", ["noise:llc@50%,size=8MiB", "noise:kind=llc,intensity=50%,size=8MiB"]
)
def test_both_ways_of_naming_it_are_one_command(text: str) -> None:
    assert _words(text)[1:] == ("llc", "--intensity=50%", "--tolerance=10%", "--param=size=8MiB")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("noise:lcc", "did you mean llc"),
        ("noise:cpu@150%", "0% to 100%"),
        ("noise:cpu@fast", "0% to 100%"),
        ("noise:cpu,intesity=5%", "did you mean intensity"),
        ("noise:cpu,50%", "NAME=VALUE"),
        ("noise:cpu,kind=llc", "NAME=VALUE"),
        ("noise:cpu,where=here", "server"),
        ("noise:cpu,nice=40", "-20 to 19"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_could(text: str, message: str) -> None:
    with pytest.raises(SpecFault) as fault:
        named(neighbours.KINDS, text, key="neighbour")
    assert message in fault.value.fix, str(fault.value)


@has_program
def test_what_the_machine_cannot_have_is_refused_before_the_run() -> None:
    facts: Any = host.read(sample_s=0)
    for text, message in (
        ("noise:llc@50%,size=900000GiB", "at most"),
        ("noise:disk,folder=/nowhere", "may be written"),
        ("noise:cpu,access=random", "no parameters"),
    ):
        result = named(neighbours.KINDS, text, key="neighbour")
        assert result is not None
        assert isinstance(result[1], noise.Noise)
        with pytest.raises(SpecFault) as fault:
            result[1].check(facts)
        assert message in f"{fault.value.what} {fault.value.fix}", str(fault.value)


@has_program
def test_the_lab_knows_the_antagonists_of_the_program() -> None:
    path = programs.find(noise.PROGRAM)
    done = subprocess.run([path, "--describe"], capture_output=True, check=True)
    kinds = json.loads(done.stdout)["catalogue"]["tables"][0]["kinds"]
    assert tuple(kind["name"] for kind in kinds) == noise.ANTAGONISTS
    assert {param["name"] for kind in kinds for param in kind["params"]} == set(noise.OTHERS)


@has_program
def test_a_square_wave_is_due_by_its_closed_form_and_ends_with_a_summary() -> None:
    argv = [str(programs.find(noise.PROGRAM)), "wave", "-p", "busy=3ms", "-p", "period=24ms"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as task:
        assert task.stdout is not None
        heard = [json.loads(task.stdout.readline()) for _ in range(2)]
        task.send_signal(signal.SIGTERM)
        heard += [json.loads(line) for line in task.communicate()[0].splitlines()]
    last = heard[-1]
    assert last["is_summary"]
    assert task.returncode == (3 if last["is_held"] is False else 0)
    periods, rest_s = divmod(last["t_s"], 0.024)
    due_ns = (periods * 0.003 + min(rest_s, 0.003)) * 1e9
    assert last["asked_per_s"] * last["length_s"] == pytest.approx(due_ns, rel=1e-3)
    assert last["units"] <= due_ns + 1e6, "busy for longer than it was asked to be"
    assert last["units"] <= last["cpu_s"] * 1e9, "more than the CPU time that it used"


@has_program
def test_it_ends_when_whoever_started_it_has_ended(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = str(programs.find(noise.PROGRAM))
    words = f"'{program}' cpu -i 1% --calibrate 5ms > '{out}' & echo $!; exec sleep 600"
    with subprocess.Popen(["/bin/sh", "-c", words], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        end_s = time.monotonic() + 300
        try:
            while "alone_per_s" not in (out.read_text() if out.exists() else ""):
                assert time.monotonic() < end_s
                time.sleep(0.02)
        finally:
            parent.kill()
    while '"is_summary":true' not in out.read_text():
        if time.monotonic() > end_s:
            os.kill(pid, signal.SIGKILL)  # it never ended: the number is still its own
            pytest.fail("it runs on")
        time.sleep(0.05)
