"""Files of records that strangers have damaged: each is read, or is a fault in words."""

from __future__ import annotations

import contextlib
import json
import re
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sojourn import pipeline, report, samples, spec, store
from sojourn.cli.app import main
from sojourn.damage_testing import bytes_like, json_like, parquet_like
from sojourn.errors import Exit, Fault
from sojourn.fuzz_testing import Target, fuzz
from sojourn.testing import installed
from sojourn.testing_questions import parts

FEW = 6  # each reads a record four times over
MOST_BYTES = 3 * 1024**3  # of data that a reader may take beside what the tests have
STUDY = """schema = "sojourn.study/1"
name = "plain"
question = "What is asked?"
aa = false
[run]
measure_s = 0.2
repeats = 1
fractions = [0.2, 0.5]
peak_s = 0.2
peak_repeats = 1
[[services]]
kind = "memcached"
measure = ["sweep"]
[services.qos]
q = 0.99
bound = "1ms"
"""


@pytest.fixture(scope="module", name="plain")
def _plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record that a simulated lab has measured."""
    at = tmp_path_factory.mktemp("fuzzed")
    (at / "plain.toml").write_text(STUDY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        installed(patch, tmp_path_factory.mktemp("locks"))
        code = main(["run", str(at / "plain.toml"), "--results", str(at / "results")])
    assert code in {Exit.OK, Exit.VIOLATED, Exit.UNKNOWN}
    (path,) = (at / "results" / "plain").glob("*/*")
    return path


@pytest.fixture(autouse=True)
def _bounded() -> Iterator[None]:
    """What takes more memory than any record needs fails, and does not take the machine's.

    The bound is beside what this process has already, which tests before these may have filled.
    """
    before = resource.getrlimit(resource.RLIMIT_DATA)
    (has,) = re.findall(r"^VmData:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    resource.setrlimit(resource.RLIMIT_DATA, (int(has) * 1024 + MOST_BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)


@pytest.fixture(name="copied")
def _copied(plain: Path, tmp_path: Path) -> Path:
    """A copy of the record, in a results folder of its own."""
    return Path(shutil.copytree(plain, tmp_path / "results" / "plain" / "host" / plain.name))


def last(record_: Path) -> Path:
    return max((record_ / "points").iterdir())


def looked(path: Path, name: str) -> Callable[[bytes], None]:
    """Everything that reads a record: to show it, to list all, to ask them, to go on with it."""
    results = path.parents[2]
    sound = spec.load(path / "study.toml", is_own=True)

    def reads(data: bytes) -> None:
        (path / name).write_bytes(data)
        for made in (*path.glob("points/*/summary.json"), path / "outcomes.parquet"):
            if made != path / name:
                made.unlink(missing_ok=True)
        store.listed(results)
        store.query(results, "select * from outcomes, left_out", on_fault=lambda *_: None)
        with contextlib.suppress(Fault), store.open(results, sound, machine="host"):
            pass
        for resumed in path.glob("resumed-*"):
            resumed.unlink()
        with store.files.readable(path, ""):
            report.text(pipeline.findings_of(path), parts(), 80)

    return reads


#: Files of a record: how each is damaged, and where it is read.
RECORD = {
    "study.toml": (bytes_like, ("spec.reading", "spec.text", "spec.by_profile")),
    "manifest.json": (json_like, ("store.find", "store.record", "samples.contract")),
    "left_out.json": (json_like, ("store.record",)),
    "answer.json": (json_like, ("store.record",)),
    "outcomes.parquet": (parquet_like, ("store.index", "store.columns", "store.gather")),
}
POINT = {
    "outcome.parquet": (parquet_like, ("store.index", "store.columns", "store.gather")),
    "load.json": (json_like, ("samples.contract", "samples.versioned", "samples.reading")),
    "service.json": (json_like, ("samples.reading",)),
    "host.json": (json_like, ("samples.reading",)),
    "summary.json": (json_like, ("samples.contract",)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RECORD)
def test_a_file_of_a_record(copied: Path, name: str) -> None:
    path = copied / name
    if not path.exists():
        row = {
            "service": "memcached",
            "levels": {"load": 0.2},
            "state": "skipped",
            "reason": "x",
            "fix": "y",
        }
        path.write_text(json.dumps({"schema": f"sojourn.{path.stem}/1", "rows": [row]}))
    like, code = RECORD[name]
    fuzz(name, Target(like, path.read_bytes(), looked(copied, name), code, FEW))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", POINT)
def test_a_file_of_a_point(copied: Path, name: str) -> None:
    pipeline.findings_of(copied)  # makes the summaries
    point = last(copied)
    if not (point / name).exists():
        pytest.skip(f"the simulated lab writes no {name}")
    like, code = POINT[name]
    whole = looked(copied, f"points/{point.name}/{name}")

    def reads(data: bytes) -> None:
        whole(data)
        samples.read(point)

    fuzz(name, Target(like, (point / name).read_bytes(), reads, code, FEW))


@pytest.mark.filterwarnings("ignore")
def test_a_file_beside_the_result(copied: Path) -> None:
    point = last(copied)

    def of_point(data: bytes) -> None:
        (point / "point.json").write_bytes(data)
        samples.read(point)

    def of_raw(data: bytes) -> None:
        (point / "raw.parquet").write_bytes(data)
        samples.raw_sojourn_ns(point / "raw.parquet")

    def of_log(data: bytes) -> None:
        (point / "load.hlog").write_bytes(data)
        samples.intervals(point / "load.hlog")

    def of_hdr(data: bytes) -> None:
        samples.decode(data.decode("latin-1"), at="hdr")

    load_ = json.loads((point / "load.json").read_bytes())
    packed = str(load_["sojourn_ns"]["hdr"])
    log = f'#[x]\n"StartTimestamp"\nTag=all,0.0,1.0,1.0,{packed}\n0.0,1.0,1.0,{packed}\n'.encode()
    for name, like, sound, reads, code in (
        (
            "point.json",
            json_like,
            (point / "point.json").read_bytes(),
            of_point,
            ("samples.reading",),
        ),
        (
            "raw.parquet",
            parquet_like,
            (point / "raw.parquet").read_bytes(),
            of_raw,
            ("samples.raw",),
        ),
        ("load.hlog", bytes_like, log, of_log, ("samples.interval",)),
        ("hdr", bytes_like, packed.encode(), of_hdr, ("samples.histogram",)),
    ):
        fuzz(name, Target(like, sound, reads, code))
