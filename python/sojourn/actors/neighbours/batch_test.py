"""Batch programs as neighbours: how a study names them, what is refused, how they are driven."""

from __future__ import annotations

import importlib.util
import itertools
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import extras, host, programs
from sojourn.actors import neighbours
from sojourn.actors.kind import named
from sojourn.actors.neighbours import driven, fio, iperf3, stress
from sojourn.drive import pace
from sojourn.drive.job import Job
from sojourn.drive.work import Children, work
from sojourn.errors import AbsentFault, HostFault, SpecFault


def _driven(text: str) -> driven.Driven:
    result = named(neighbours.KINDS, text, key="neighbour")
    assert result is not None
    assert isinstance(result[1], driven.Driven)
    return result[1]


def _job(text: str) -> dict[str, Any]:
    job: dict[str, Any] = json.loads(_driven(text).argv()[-1])
    Job(**job)  # it takes all of it
    return job


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every program were installed."""
    monkeypatch.setattr(programs, "find", lambda name, fix="": f"/usr/bin/{name}")


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize(
    ("text", "words", "fields"),
    [
        ("batch:xz", "xz -6", {"share": 1.0, "unit": "files"}),
        ("batch:kind=g++,intensity=50%", "-x c++ -", {"share": 0.5, "text": "source"}),
        ("batch:ffmpeg", "-nostdin", {"how": "followed"}),
        ("batch:duckdb,alone_s=2", "import signal", {"alone_s": 2.0, "how": "served"}),
        ("stress:memrate@500MB/s", "--memrate-rd-mbs 477", {"is_cpu": False}),
        ("stress:fft", "--cpu-method fft", {"reader": "stress-ng"}),
        ("fio:randwrite@50MB/s", "--rate=50000000", {"per_s": 50.0, "file_bytes": 64 << 20}),
        ("iperf3:tcp@100MB/s", "--bitrate 800000000", {"per_s": 100.0}),
    ],
)
def test_a_study_names_a_program_and_how_much_of_it(
    text: str, words: str, fields: dict[str, Any]
) -> None:
    job = _job(text)
    assert words in " ".join(job["argv"])
    assert {name: job[name] for name in fields} == fields


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch:xzz", "did you mean xz"),
        ("batch:xz@150%", "0.1% to 100%"),
        ("batch:xz@0%", "0.1% to 100%"),
        ("batch:ffmpeg@50%", "leave intensity out"),
        ("batch:xz,threads=2", "no parameter"),
        ("stress:matrixprodd", "did you mean matrixprod"),
        ("stress:cache@500MB/s", "memrate can be capped"),
        ("stress:memrate@150%", "500MB/s"),
        ("fio:randwrite@50%", "50MB/s"),
        ("fio:trim", "randwrite"),
        ("fio:read,size=4KiB", "a larger size="),
        ("iperf3:udp", "iperf3:udp@50MB/s"),
        ("iperf", "did you mean iperf3"),
    ],
)
def test_bad_input_says_what_there_is(text: str, message: str) -> None:
    with pytest.raises(SpecFault) as fault:
        named(neighbours.KINDS, text, key="neighbour")
    assert message in f"{fault.value.what} {fault.value.fix}"


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("batch:xz", "apt install xz-utils"),
        ("batch:numpy", "install sojourn again: numpy comes with it"),
        ("stress:cache", stress.FIX),
        ("fio:read", fio.FIX),
        ("iperf3:tcp", iperf3.FIX),
    ],
)
def test_what_is_not_installed_is_reported_with_its_fix(
    text: str, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    actor, facts = _driven(text), host.read(sample_s=0)
    monkeypatch.setattr(programs, "places", lambda: ())
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(HostFault) as fault:
        actor.check(facts)
    assert fault.value.fix == fix
    assert "is not installed" in fault.value.what


def test_a_package_that_is_missing_is_put_into_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """The `pip` of a shell may be that of another one."""
    actor, facts = _driven("batch:duckdb"), host.read(sample_s=0)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(HostFault, match="package duckdb is not installed") as fault:
        actor.check(facts)
    assert fault.value.fix == extras.command(extras.SQL)
    assert not fault.value.fix.startswith("pip ")


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize("text", ["fio:read,folder=/nowhere", "fio:read,size=900000GiB"])
def test_a_disk_that_cannot_take_the_file_is_this_machines(text: str) -> None:
    with pytest.raises(AbsentFault):
        _driven(text).check(host.read(sample_s=0))


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize("text", ["batch:xz,alone_s=999", "fio:read,size=90GiB"])
def test_who_is_to_take_long_at_first_has_the_time(text: str) -> None:
    """Each printed nothing within a minute, as it was asked to, and so failed every time."""
    assert _driven(text)._first_s > 999


class Clock:
    """Time that passes only when somebody works or sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, job: Job, *pieces_s: float) -> None:
        self.now_s, self.cpu_s, self.lines = 100.0, 0.0, list[dict[str, Any]]()
        self._pieces_s = itertools.cycle(pieces_s)
        clock = SimpleNamespace(
            monotonic=lambda: self.now_s,
            monotonic_ns=lambda: int(self.now_s * 1e9),
            sleep=self._sleep,
        )
        monkeypatch.setattr(pace, "time", clock)
        monkeypatch.setattr(Children, "cpu_s", lambda _: self.cpu_s)
        monkeypatch.setattr(pace, "work", lambda *_: self._work())
        monkeypatch.setattr(pace, "say", lambda **line: self.lines.append(line))
        with pytest.raises(RuntimeError, match="enough"):
            pace.drive(job)

    def _sleep(self, length_s: float) -> None:
        self.now_s += length_s

    def _work(self) -> Iterator[float]:
        for took_s in itertools.islice(self._pieces_s, 400):
            self.now_s += took_s
            self.cpu_s += min(took_s, 0.05)
            yield 1.0
        raise RuntimeError("enough")


def _a_job(**fields: Any) -> Job:
    return Job(**{"unit": "files", "how": "command", "argv": ("it",), **fields})


def test_flat_out_its_pace_is_that_of_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *lines = Clock(monkeypatch, _a_job(), 0.05).lines
    assert first["alone_per_s"] == pytest.approx(20)
    assert first["alone_error_per_s"] == pytest.approx(0, abs=1e-9)
    assert first["is_flat_out"]
    assert len(lines) > 50
    assert all(line["achieved_per_s"] == pytest.approx(20) for line in lines)
    assert all(pace.SAY_S <= line["length_s"] < 2 * pace.SAY_S for line in lines)


@pytest.mark.parametrize("alone_s", [0.0, 0.001])
def test_a_short_look_at_its_pace_alone_has_more_than_one_piece(
    monkeypatch: pytest.MonkeyPatch, alone_s: float
) -> None:
    """None could not be divided, and one has no spread, which counted as none."""
    first, *_ = Clock(monkeypatch, _a_job(alone_s=alone_s, is_cpu=False), 0.05, 0.1).lines
    assert first["alone_per_s"] == pytest.approx(20 / 1.5, rel=0.2)
    assert first["alone_error_per_s"] > 0


def test_half_of_its_pace_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *lines = Clock(monkeypatch, _a_job(share=0.5), 0.05).lines
    assert first["asked_per_s"] == pytest.approx(10)
    assert not first["is_flat_out"]
    whole_s = sum(line["length_s"] for line in lines)
    done = sum(line["achieved_per_s"] * line["length_s"] for line in lines)
    assert done / whole_s == pytest.approx(10, rel=0.02)


def test_a_busy_machine_is_not_taken_for_a_slow_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other piece waits for a CPU for as long as it uses one: its pace alone is the same."""
    first, *lines = Clock(monkeypatch, _a_job(), 0.05, 0.1).lines
    assert first["alone_per_s"] == pytest.approx(20)
    assert lines[0]["achieved_per_s"] == pytest.approx(20 / 1.5, rel=0.2)
    waited = sum(line["runq_wait_s"] for line in lines) / sum(line["length_s"] for line in lines)
    assert waited == pytest.approx(1 / 3, rel=0.05)
    by_wall, *_ = Clock(monkeypatch, _a_job(is_cpu=False), 0.05, 0.1).lines
    assert by_wall["alone_per_s"] == pytest.approx(20 / 1.5, rel=0.1)


def test_a_program_that_fails_ends_the_driver_with_its_name() -> None:
    pieces = work(_a_job(argv=("/bin/false",)), Children())
    with pytest.raises(SystemExit, match="/bin/false ended with exit status 1"):
        next(pieces)


def test_its_input_is_the_same_each_time_and_read_from_the_start(
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = ("/bin/sh", "-c", "wc -c >&2")
    job = _a_job(argv=words, text="prose", text_bytes=1234)
    assert list(itertools.islice(work(job, Children()), 3)) == [1.0] * 3
    assert capfd.readouterr().err.split() == ["1234"] * 3
