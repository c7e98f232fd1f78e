"""Records that somebody else has sent: looking at one writes nowhere, shows nothing from elsewhere.

Each test plants what an attacker would into a record that a simulated lab has measured, and calls
the program as a person does.
"""

from __future__ import annotations

import base64
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sojourn import disk, report, store
from sojourn.cli.app import main
from sojourn.damage_testing import nested
from sojourn.errors import Exit, StoreFault
from sojourn.samples import raw_sojourn_ns
from sojourn.testing import Lab, installed, is_bug

STUDY = """schema = "sojourn.study/1"
name = "{name}"
question = "What is asked of {name}?"
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
KEY = "ssh-ed25519 AAAA attacker"
Measured = Callable[[Path, str], Path]


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return installed(monkeypatch, tmp_path_factory.mktemp("locks"), pages=True)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first test that asks has measured, for the others to copy."""
    return tmp_path_factory.mktemp("originals")


@pytest.fixture
def measured(lab: Lab, originals: Path) -> Measured:
    """Makes a record of a name in a folder."""

    def copy(folder: Path, name: str) -> Path:
        if not (originals / name).exists():
            (originals / name).mkdir()
            measure(originals / name, name)
        shutil.copytree(originals / name, folder, dirs_exist_ok=True, symlinks=True)
        (path,) = (folder / "results" / name).glob("*/*")
        return path

    return copy


@pytest.fixture
def record(measured: Measured, tmp_path: Path) -> Path:
    """A record that came by mail: two points, its summaries not made yet."""
    return measured(tmp_path, "plain")


def measure(folder: Path, name: str) -> None:
    study = folder / f"{name}.toml"
    study.write_text(STUDY.format(name=name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "write", lambda _findings, path, _parts, **_: [path / "report.html"])
        code = main(["run", str(study), "--results", str(folder / "results")])
    assert code in {Exit.OK, Exit.VIOLATED, Exit.UNKNOWN}
    (path,) = (folder / "results" / name).glob("*/*")
    for made in path.glob("points/*/summary.json"):
        made.unlink()


def points(record: Path) -> list[Path]:
    return sorted((record / "points").iterdir())


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_report_writes_through_no_link_that_was_planted(record: Path, tmp_path: Path) -> None:
    """The first proof of the finding: a page that holds a key became an authorised one."""
    keys = tmp_path / "authorized_keys"
    study = record / "study.toml"
    asked = json.dumps(f"how much?\n{KEY}\n")
    study.write_text(study.read_text().replace('"What is asked of plain?"', asked))
    own = ["report.html", "report.txt", "answer.json", "report.html.part", "lock"]
    for name in [*own, *(f".{name}.part" for name in own)]:
        (record / name).unlink(missing_ok=True)
        (record / name).symlink_to(keys)
    for point in points(record):
        for name in ("summary.json", ".summary.json.part"):
            (point / name).symlink_to(keys)
    assert main(["report", str(record)]) == Exit.OK
    assert not keys.exists()
    assert KEY in (record / "report.html").read_text()
    assert not (record / "report.html").is_symlink()


@pytest.mark.parametrize("folder", ["figures", "points"])
def test_a_report_follows_no_folder_that_is_a_link(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    if (record / folder).exists():
        (record / folder).rename(elsewhere)
    else:
        elsewhere.mkdir()
    (record / folder).symlink_to(elsewhere)
    before = tree(elsewhere)
    assert main(["report", str(record)]) == Exit.FAILED
    assert "link" in capsys.readouterr().err
    assert tree(elsewhere) == before


def test_to_show_a_record_of_somebody_else_changes_nothing_in_it(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    before = tree(record)
    assert main(["show", str(record)]) in {Exit.OK, Exit.VIOLATED}
    assert tree(record) == before
    monkeypatch.undo()


def test_a_point_is_only_ever_one_of_its_own_record(
    lab: Lab, measured: Measured, record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = measured(tmp_path, "other")
    for path in other.glob("points/*/service.json"):
        path.write_text(path.read_text().replace("few", "hunter2"))
    for point, foreign in zip(points(record), points(other), strict=True):
        table = pq.read_table(point / "outcome.parquet")
        at = table.schema.get_field_index("folder")
        for text in (str(foreign), f"../../../../other/{foreign}", "points/..", "points/a/b"):
            forged = table.set_column(at, "folder", pa.array([text]))
            pq.write_table(forged, point / "outcome.parquet")
            (record / "outcomes.parquet").unlink(missing_ok=True)
            main(["report", str(record)])
            page = record / "report.html"
            assert not page.exists() or "hunter2" not in page.read_text()
    assert "which is not in the record" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", ["load.json", "service.json", "raw.parquet", "outcome.parquet"])
def test_no_file_of_a_point_is_a_link_that_is_read(
    record: Path, capsys: pytest.CaptureFixture[str], name: str, tmp_path: Path
) -> None:
    point = points(record)[-1]
    shutil.move(point / name, tmp_path / name)
    (point / name).symlink_to(tmp_path / name)
    (record / "outcomes.parquet").unlink(missing_ok=True)
    assert main(["show", str(record)]) == Exit.FAILED
    err = capsys.readouterr().err
    assert "link" in err
    assert not is_bug(err)


def bomb(point: Path) -> None:
    table = pq.read_table(point / "outcome.parquet")
    pq.write_table(table.take(pa.repeat(pa.scalar(0), 200_000)), point / "outcome.parquet")


def long_list(point: Path) -> None:
    table = pq.read_table(point / "outcome.parquet")
    size = 20_000_000
    offsets = pa.array([0, size], pa.int32())
    clusters = pa.ListArray.from_arrays(offsets, pa.repeat(pa.scalar(0, pa.int64()), size))
    at = table.schema.get_field_index("clusters")
    pq.write_table(table.set_column(at, "clusters", clusters), point / "outcome.parquet")


def swollen(point: Path) -> None:
    """A histogram of some kilobytes that is a gigabyte when it is unpacked."""
    head = struct.pack(">IIIIQQd", 0x1C849303 | 0x10, 0, 0, 3, 1, 3_600_000_000_000, 1.0)
    # What follows a full flush depends on nothing before it: a mebibyte is squeezed once.
    squeezed = zlib.compressobj(9)
    packed = squeezed.compress(head) + squeezed.flush(zlib.Z_FULL_FLUSH)
    packed += 1024 * (squeezed.compress(bytes(2**20)) + squeezed.flush(zlib.Z_FULL_FLUSH))
    # Its sum (Adler-32): a zero changes nothing in the lower half, which it adds to the upper one.
    upper, lower = divmod(zlib.adler32(head), 2**16)
    packed += squeezed.flush()[:-4] + struct.pack(">HH", (upper + 2**30 * lower) % 65521, lower)
    assert len(packed) < 2**21
    text = base64.b64encode(struct.pack(">II", 0x1C849304 | 0x10, len(packed)) + packed).decode()
    table = json.loads((point / "load.json").read_text())
    table["sojourn_ns"]["hdr"] = text
    (point / "load.json").write_text(json.dumps(table))


def deep(point: Path) -> None:
    (point / "load.json").write_text("[" * 200_000)


def pipe(point: Path) -> None:
    (point / "load.json").unlink()
    os.mkfifo(point / "load.json")


@pytest.mark.parametrize("damage", [bomb, long_list, swollen, deep, pipe])
def test_a_point_that_would_take_all_memory_or_for_ever_is_named(
    record: Path, damage: Callable[[Path], None]
) -> None:
    """In a process of its own, which may take no more memory than looking at a record does."""
    damage(points(record)[-1])
    (record / "outcomes.parquet").unlink(missing_ok=True)
    done = looked("show", str(record), most=1_000_000_000)
    assert done.returncode == Exit.FAILED, done.stderr
    assert not is_bug(done.stderr)
    assert points(record)[-1].name in "".join(done.stderr.split())


def test_what_takes_more_memory_than_there_is_is_a_fault_of_that_record(
    measured: Measured,
    record: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    measured(tmp_path, "sound")
    for index in tmp_path.rglob("outcomes.parquet"):
        index.unlink()
    read = disk.read_columns

    def greedy(path: Path, **how: Any) -> pa.Table:
        if path.is_relative_to(record):
            raise MemoryError
        return read(path, **how)

    monkeypatch.setattr(disk, "read_columns", greedy)
    capsys.readouterr()
    assert main(["show", str(record)]) == Exit.FAILED
    err = capsys.readouterr().err
    assert not is_bug(err)
    assert "fix:" in err
    statement = "select distinct study from outcomes"
    assert main(["sql", statement, "--csv", "--results", str(tmp_path / "results")]) == Exit.OK
    seen = capsys.readouterr()
    assert seen.out.split() == ["study", "sound"]
    assert "left out: " in seen.err
    assert main(["ls", "--results", str(tmp_path / "results")]) == Exit.OK


def test_folders_that_go_too_deep_keep_no_one_from_the_records(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An archive of some kilobytes may have thousands of them, one in the other."""
    results = str(record.parents[2])
    with nested(record, 1200):
        for words in (["ls"], ["show"], ["sql", "select count(*) from outcomes"]):
            assert main([*words, "--results", results]) in {Exit.OK, Exit.VIOLATED}
        assert main(["report", str(record)]) == Exit.OK
        assert main(["rm", record.name, "--yes", "--results", results]) == Exit.OK
    assert not record.exists()
    assert not is_bug(capsys.readouterr().err)


@pytest.mark.parametrize("name", ["outcome.parquet", "outcomes.parquet", "raw.parquet"])
def test_a_byte_that_flipped_is_a_fault_of_its_file_at_most(record: Path, name: str) -> None:
    """Names, texts and numbers of Parquet, one byte after the other."""
    path = record / name if name == "outcomes.parquet" else points(record)[-1] / name
    sound = path.read_bytes()
    rng = random.Random(7)  # noqa: S311 - no secret
    ends = [*range(len(sound) - 400, len(sound)), *range(4, 400)]  # names, and the first texts
    outcomes: Counter[str] = Counter()
    known = store.read(record)
    for at in sorted({*rng.sample(ends, 300), *rng.sample(range(len(sound)), 100)}):
        flipped = bytearray(sound)
        flipped[at] ^= rng.choice([0x80, 0xFF, 1])
        path.write_bytes(flipped)
        if name == "outcome.parquet":
            (record / "outcomes.parquet").unlink(missing_ok=True)
        try:
            if name == "raw.parquet":
                raw_sojourn_ns(path)
            else:
                known.outcomes()
        except StoreFault:
            outcomes["fault"] += 1
        else:
            outcomes["fine"] += 1
    assert outcomes["fine"]
    assert outcomes["fault"] or name == "outcomes.parquet", "a copy that is damaged is not used"


def looked(*words: str, most: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own, with at most so many bytes of data."""

    def bound() -> None:
        if most:
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))

    return subprocess.run(
        [sys.executable, "-P", "-m", "sojourn", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        timeout=300,
        preexec_fn=bound,
        env={**os.environ, **env},
    )


DAMAGED = {
    "manifest.json": [
        "[" * 200_000,
        '{"schema": "sojourn.record/1", "environment": [1]}',
        "[]",
        "\xff",
    ],
    "study.toml": [
        "run = 3",
        "a = " + "[" * 100_000,
        "a." * 5_000 + "a = 1",
        "a = " + "9" * 5_000,
        "a." * 100_000 + "a = 1",  # 40 GB of memory to read its 200 kB
        "[" + "a." * 20_000 + "a]\n" + "b.c = 1\n" * 5_000,
    ],
    "answer.json": ["[" * 200_000, "[]"],
    "left_out.json": ['{"schema": "sojourn.left_out/1", "rows": [3]}', "{"],
}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(name, text, id=f"{name}-{text[:12]!r}")
        for name, texts in DAMAGED.items()
        for text in texts
    ],
)
def test_one_record_that_cannot_be_read_keeps_no_one_from_the_others(
    measured: Measured, record: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    results = record.parents[2]
    measured(results.parent, "sound")
    (record / name).write_text(text, encoding="latin-1")
    capsys.readouterr()
    assert main(["ls", "--results", str(results)]) == Exit.OK
    assert "sound" in capsys.readouterr().out
    statement = "select distinct study from outcomes"
    assert main(["sql", statement, "--csv", "--results", str(results)]) == Exit.OK
    output = capsys.readouterr()
    assert "sound" in output.out
    is_left_out = "plain" not in output.out
    assert is_left_out == ("left out: " in output.err)
    assert is_left_out or name == "answer.json"
    assert main(["show", "sound", "--results", str(results)]) in {Exit.OK, Exit.VIOLATED}
    code = main(["show", str(record)])
    assert not is_bug(capsys.readouterr().err)
    assert code in {Exit.OK, Exit.VIOLATED, Exit.USAGE, Exit.FAILED}


@pytest.mark.parametrize("pair", [("a b", "1"), ("load", "zz zz"), ("load", None)])
def test_one_forged_setting_keeps_no_one_from_the_others(
    measured: Measured,
    record: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    pair: tuple[str, str],
) -> None:
    measured(tmp_path, "sound")
    path = points(record)[0] / "outcome.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index("setting")
    forged = pa.array([[pair, pair]], type=table.schema.field("setting").type)
    pq.write_table(table.set_column(at, table.schema.field(at), forged), path)
    (record / "outcomes.parquet").unlink(missing_ok=True)
    capsys.readouterr()
    statement = "select distinct study from outcomes"
    assert main(["sql", statement, "--csv", "--results", str(tmp_path / "results")]) == Exit.OK
    output = capsys.readouterr()
    assert output.out.split() == ["study", "sound"]
    assert f"left out: {record}" in "".join(output.err.split("\n"))


def test_what_is_reported_about_a_damaged_manifest_is_of_the_record_not_of_a_point(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (record / "manifest.json").write_text("{")
    assert main(["show", str(record)]) == Exit.FAILED
    text = " ".join(capsys.readouterr().err.split())
    assert "this point's folder" not in text
    assert "the record is lost without this file" in text


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("sojourn run plain --set 'a=b c'", 1),
        ("sojourn run plain; touch made-by-a-copy", 0),
        ("touch made-by-a-copy", 0),
        ("sojourn run $(touch made-by-a-copy)", 0),
        ("sojourn run 'plain", 0),
    ],
)
def test_a_command_that_is_shown_to_be_copied_is_the_labs_own(
    record: Path, capsys: pytest.CaptureFixture[str], command: str, shown: int
) -> None:
    table = json.loads((record / "manifest.json").read_text())
    (record / "manifest.json").write_text(json.dumps({**table, "command": command}))
    capsys.readouterr()
    assert main(["show", str(record)]) in {Exit.OK, Exit.VIOLATED}
    assert capsys.readouterr().out.count("again: ") == shown
    assert main(["report", str(record)]) == Exit.OK
    assert "made-by-a-copy" not in (record / "report.html").read_text()


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_a_terminal_of_few_letters_is_spoken_to(record: Path, encoding: str) -> None:
    done = looked("show", str(record), PYTHONIOENCODING=encoding)
    assert done.returncode in {Exit.OK, Exit.VIOLATED}, done.stderr
    assert "plain" in done.stdout


def test_a_report_can_be_written_beside_a_medium_that_cannot(
    record: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "new" / "report"
    before = tree(record)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)  # as on a medium that cannot be written
    assert main(["report", str(record), "--out", str(out), "--pictures"]) == Exit.OK
    assert tree(record) == before
    assert str(out / "report.html") in capsys.readouterr().out
    assert (out / "report.html").is_file()
    assert list((out / "figures").glob("*.svg"))
    assert main(["report", "--all", "--out", str(out)]) == Exit.USAGE
