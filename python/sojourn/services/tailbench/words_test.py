"""Search, speech, translation: what is right, what is refused; programs where they were made."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sojourn import install, services
from sojourn.errors import HostFault, RunFault
from sojourn.install import MANIFEST, Made, answers, hashed
from sojourn.places import Address
from sojourn.places.task import Task
from sojourn.services import Allowance
from sojourn.services.capabilities import crew, reply_s
from sojourn.services.tailbench.queries import REPORT, numbers
from sojourn.services.tailbench.words import READY, Words

ROOMY = Allowance(cpus=2, memory_bytes=8 << 30)
NAMES = ("xapian", "sphinx", "moses")
END_S_MAX = 300.0
KNOWN = ("one", "dós", "three")


def built(name: str, **params: services.Value) -> Words:
    made = services.build(name, params, ROOMY)
    assert isinstance(made, Words)
    return made


def real(name: str, **params: services.Value) -> Words:
    if install.part(name).made() is None:
        pytest.skip(f"needs {name}: sojourn install {name}")
    return built(name, **params)


def put(folder: Path, **facts: str) -> None:
    """A thing that was made, without a program."""
    (folder / "index").mkdir(parents=True)
    (folder / "index" / "file").write_text("kept")
    (folder / "sojourn-xapian").write_text("#!/bin/sh\n")
    (folder / "sojourn-xapian").chmod(0o700)
    (folder / answers.ANSWERS).write_text("".join(f"{text}\n" for text in KNOWN))
    files = [path for path in folder.rglob("*") if path.is_file()]
    table = {"files": {str(p.relative_to(folder)): hashed(p) for p in files}, "facts": facts}
    (folder / MANIFEST).write_text(json.dumps(table))


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def fake(cache: Path) -> Words:
    del cache
    for name in NAMES:
        put(install.part(name).folder, corpus="small")
    return built("xapian", threads=2, seed=5, queries=50)


def test_what_was_not_made_or_has_changed_is_refused_with_its_fix(cache: Path) -> None:
    del cache
    with pytest.raises(HostFault) as caught:
        services.build("moses", {}, ROOMY)
    assert (caught.value.what, caught.value.fix) == (
        "moses: not installed",
        "sojourn install moses",
    )
    put(install.part("moses").folder)
    assert services.build("moses", {}, ROOMY)
    (install.part("moses").folder / answers.ANSWERS).write_text("one\ntwo\nthree\n")
    with pytest.raises(HostFault, match=r"answers\.txt is not what was fetched"):
        services.build("moses", {}, ROOMY)


def test_a_reply_is_right_to_the_byte_or_wrong(fake: Words) -> None:
    def number(seed: int) -> int:
        return int(numbers(seed, np.array([7], np.uint64))[0]) % 3

    nth = number(5)
    text = KNOWN[nth] + " " * (fake.WIDTH - len(KNOWN[nth].encode()))
    right = f"query          7 {text}\n"
    job = fake.endpoint(Address("127.0.0.1", 80)).job
    assert len(right.encode()) == fake.reply_bytes == job["expect_bytes"]
    assert fake.is_answer(7, right)
    assert not fake.is_answer(7, right.replace(KNOWN[nth][0], "x", 1))
    assert not fake.is_answer(7, right.rstrip("\n"))
    assert not fake.is_answer(8, right)
    other = next(seed for seed in range(6, 99) if number(seed) != nth)
    assert not replace(fake, seed=other).is_answer(7, right)


def test_the_service_is_given_its_data_and_not_the_answers(fake: Words, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    fake.prepare(work)
    names = {str(path.relative_to(work)) for path in work.rglob("*") if path.is_file()}
    assert names == {"index/file", "sojourn-xapian"}
    assert (work / "sojourn-xapian").stat().st_mode & 0o777 == 0o755
    assert (work / "index" / "file").stat().st_mode & 0o777 == 0o644
    words = " ".join(fake.start(work, Address("127.0.0.1", 80)).words)
    assert f"--data {work}" in words
    assert "--threads 2 --queries 50 --seed 5" in words


def test_a_slow_service_has_time_to_answer(fake: Words) -> None:
    at = Address("127.0.0.1", 80)
    assert "timeout" not in fake.endpoint(at).job
    speech = built("sphinx", threads=2)
    job = speech.endpoint(at).job
    assert job["timeout"] == job["drain"] == "120s"
    assert reply_s(speech) == 120.0
    assert speech.filling().requests == 4
    start = speech.start(Path("/w"), at)
    assert (start.ready_s, start.stop_s) == (90.0, 30.0), "eight decoders on two CPUs take 4 s"
    assert dict(fake.setup())["corpus"] == "small"
    assert dict(fake.setup())["asked"] == "50 queries for 3 inputs, seed 5"
    assert all("P8" in dict(built(name).setup())["paper"] for name in NAMES)


def test_the_stages_of_a_pipeline_go_with_their_worker(fake: Words) -> None:
    del fake
    moses = built("moses", threads=2)
    lines = [
        "sojourn-moses",
        "sojourn-moses",
        "sojourn-moses",
        "worker-1/lt-proc -z a",
        "worker-0/lt-proc -z a",
        "worker-0/apertium-tagger",
        "worker-7/lt-proc",
    ]
    names = ["sojourn-moses", "worker-1", "worker-0", *["lt-proc"] * 4]
    tasks = [
        Task(pid=nth, tid=nth, name=name, command=line)
        for nth, (name, line) in enumerate(zip(names, lines, strict=True))
    ]
    assert moses.pinned(tasks) == (2, 1)
    assert crew(moses, tasks) == {2: (4, 5), 1: (3,)}
    assert crew(built("xapian"), tasks) == {}


@contextmanager
def served(service: Words, work: Path) -> Iterator[Address]:
    """The real program in a folder of its own, until the end of the block."""
    words = [str(work / service.path.name), *service.words(work, Address("127.0.0.1", 0))]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as live:
        assert live.stdout is not None
        try:
            yield Address("127.0.0.1", json.loads(live.stdout.readline())["port"])
        finally:
            live.send_signal(signal.SIGTERM)
            live.wait(END_S_MAX)


def ready(service: Words, address: Address) -> None:
    deadline = time.monotonic() + END_S_MAX
    while not service.ready(address, 2.0):
        assert time.monotonic() < deadline, READY


def folder(service: Words, tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    service.prepare(work)
    return work


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_is_as_it_was_when_it_was_made(name: str, tmp_path: Path) -> None:
    service = real(name, threads=1 if name == "sphinx" else 2, queries=1_000)
    work = folder(service, tmp_path)
    with served(service, work) as address:
        ready(service, address)
        assert dict(service.check(address))["answers checked"].startswith("5 queries")
        for query in range(7, 1_000, 1_000 if name == "sphinx" else 100):
            text = service._ask(query, address, END_S_MAX)
            assert text is not None
            assert len(text.encode()) == service.reply_bytes
            assert service.is_answer(query, text)
        assert service._ask(1_000, address, END_S_MAX) is None  # there is no such query
    report = json.loads((work / REPORT).read_text())
    assert report["refused"] == 1
    assert report["answered"] == sum(report["by_worker"]) == report["service_ns"]["count"]
    assert report["cpu_ns"] > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_right_answers_to_other_queries_are_wrong(name: str, tmp_path: Path) -> None:
    other = real(name, threads=1, seed=2)
    with served(other, folder(other, tmp_path)) as address:
        service = real(name, threads=1)
        ready(service, address)
        with pytest.raises(RunFault, match="is answered wrongly") as caught:
            service.check(address)
        assert f"sojourn install {name}" in caught.value.fix


def test_an_index_of_other_texts_is_found_out(tmp_path: Path) -> None:
    service = real("xapian", threads=1)
    work = folder(service, tmp_path)
    texts = tmp_path / "texts"
    texts.write_text("".join(f"word{nth} and the same again\n" for nth in range(500)))
    subprocess.run([work / "sojourn-xapian", "--index", texts, "--data", work], check=True)
    with served(service, work) as address:
        ready(service, address)
        with pytest.raises(RunFault, match="is answered wrongly"):
            service.check(address)


@pytest.mark.parametrize(("name", "file"), [("sphinx", "speech"), ("moses", "stages.txt")])
def test_data_that_are_gone_are_no_empty_answer(name: str, file: str, tmp_path: Path) -> None:
    service = real(name, threads=1)
    work = folder(service, tmp_path)
    if name == "sphinx":
        shutil.rmtree(work / file)
    else:  # a stage that says nothing
        first = (work / file).read_text().splitlines()[0]
        (work / "bin" / "true").write_text("#!/bin/sh\nexec true\n")
        (work / "bin" / "true").chmod(0o755)
        (work / file).write_text(f"{first}\ntrue\n")
    with served(service, work) as address:
        ready(service, address)
        with pytest.raises(RunFault, match="is answered wrongly: nothing"):
            service.check(address)


def test_an_index_that_is_broken_is_refused_at_the_start(tmp_path: Path) -> None:
    service = real("xapian", threads=1)
    work = folder(service, tmp_path)
    for path in (work / "index").iterdir():
        path.write_bytes(b"\0" * path.stat().st_size)
    words = [str(work / service.path.name), *service.words(work, Address("127.0.0.1", 0))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=END_S_MAX)
    assert done.returncode == 2
    assert "the index cannot be read" in done.stderr
    assert "sojourn install xapian" in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_one_thread_is_measured_without_a_socket(name: str) -> None:
    service = real(name)
    words = [str(service.path), "--data", str(service.made.at), "--measure", "0.5"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=END_S_MAX)
    report = json.loads(done.stdout)
    mean: Mapping[str, float | None] = report["service_ns"]
    assert report["answered"] == report["by_worker"][0] > 0
    if mean["lo"] is not None:
        assert mean["lo"] <= (mean["mean"] or 0.0) <= (mean["hi"] or 0.0)


def test_what_was_made_is_reported_with_its_facts() -> None:
    service = real("xapian")
    assert isinstance(service.made, Made)
    assert "did not agree" in dict(service.setup())["queries"]
