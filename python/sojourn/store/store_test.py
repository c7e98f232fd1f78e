"""Records: whole points only, resumption, one writer, versions, full disks."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from sojourn import spec, store
from sojourn.errors import StoreFault
from sojourn.plan import Outcome, Planner, Verdict, next_point
from sojourn.plan.points import Course, Misses
from sojourn.plan.rehearsal import imagine
from sojourn.plan.setting import Level, Setting
from sojourn.samples import made
from sojourn.spec import Study
from sojourn.store import files
from sojourn.store.columns import read, to_table
from sojourn.store.named import OUTCOME
from sojourn.store.record import OpenRecord
from sojourn.testing_questions import PLANS


@pytest.fixture
def study() -> Study:
    return spec.load("max_load_memcached", profile="quick")


def measure(record: OpenRecord, study: Study, points: int) -> list[Outcome]:
    planner = Planner(study, PLANS)
    outcomes = []
    for _ in range(points):
        point = planner.next(record.outcomes())
        assert point is not None
        folder = record.folder(point)
        outcomes.append(record.add(replace(imagine(point), folder=str(folder))))
    return outcomes


def test_outcomes_come_back_as_they_were_kept(study: Study, tmp_path: Path) -> None:
    with store.open(tmp_path, study, machine="m", manifest={"command": "c"}) as record:
        outcomes = measure(record, study, 3)
    back = store.read(record.path)
    assert list(back.outcomes()) == outcomes
    # So a record from before studies named items of the papers is resumed, too.
    assert back.study == study.model_copy(update={"papers": ()})
    assert back.manifest["command"] == "c"
    assert not back.is_complete
    assert all((back.folder_of(o) / "point.json").is_file() for o in outcomes)


def test_every_field_survives_also_none_and_reasons(study: Study, tmp_path: Path) -> None:
    point = next_point(study, [], PLANS)
    assert point is not None
    outcome = replace(
        imagine(point),
        verdict=Verdict.UNKNOWN,
        reasons=("a", "b"),
        mean_ns=None,
        p99_ns=None,
        over_bound=None,
        folder="points/1",
    )
    undisturbed = Misses(requests=7, over=3, clusters=(2, 1))
    levels: dict[str, Level] = {
        "load": 0.125,
        "tracer": True,
        "size": "2",
        "policy": "a 'b', \"c\"",
        "threads": 2,
    }
    under = replace(point, setting=Setting.of(levels))
    shielded = replace(
        outcome,
        point=under,
        over_bound=5,
        clusters=(2, 3),
        undisturbed=undisturbed,
        shield="priority",
        neighbour_per_s=3.5,
        neighbour_of_alone=0.5,
        course=Course.COLD,
        cpu_ns=1.5e4,
        refused=7,
        refused_with=("HTTP 503",),
        used_cpus=0.25,
        failed=8,
    )
    for one in (outcome, shielded):
        pq.write_table(to_table(one), tmp_path / "x.parquet")
        assert read(tmp_path / "x.parquet") == one
    assert dict(read(tmp_path / "x.parquet").point.setting) == levels  # with their types


def test_a_record_from_before_there_were_clusters_has_them_by_its_other_files(
    study: Study, tmp_path: Path
) -> None:
    point = next_point(study, [], PLANS)
    assert point is not None
    outcome = replace(imagine(point), over_bound=20, correlation=10.0)
    older = to_table(outcome).drop_columns(
        ["clusters", "undisturbed", "shield", "neighbour_per_s", "neighbour_of_alone", "course"]
    )
    pq.write_table(older, tmp_path / OUTCOME)
    back = read(tmp_path / OUTCOME)
    assert (back.clusters, back.undisturbed, back.shield) == ((10, 10), None, "none")
    assert back.course is Course.STEADY
    times = np.full(600, 1e6)
    times[100:105], times[400:415] = 5e7, 5e7
    job = {"qos_quantile": 0.99, "qos_bound": "20ms"}
    made.put(tmp_path, point, made.result(times, job=job))
    made.put_raw(tmp_path, times, gap_ns=10_000_000)
    assert read(tmp_path / OUTCOME).clusters == (5, 15)


def test_an_unfinished_record_is_resumed_and_a_finished_one_is_not(
    study: Study, tmp_path: Path
) -> None:
    with store.open(tmp_path, study) as first:
        measure(first, study, 2)
    with store.open(tmp_path, study) as second:
        assert second.path == first.path
        assert len(second.outcomes()) == 2
        measure(second, study, 1)
        second.finish()
    with store.open(tmp_path, study) as third:
        assert third.path != first.path
        assert third.outcomes() == ()


def test_a_record_of_another_user_is_not_gone_on_with(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its points may be forged, and would be counted among those that are measured now."""
    with store.open(tmp_path, study, machine="m") as forged:
        measure(forged, study, 1)
    ours = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: ours + 1)
    with store.open(tmp_path, study, machine="m") as own:
        assert own.path != forged.path
        assert list(own.outcomes()) == []
    monkeypatch.undo()
    with store.open(tmp_path, study, machine="m") as again:
        assert again.path in {own.path, forged.path}


def test_another_profile_another_machine_or_no_resume_begin_anew(
    study: Study, tmp_path: Path
) -> None:
    with store.open(tmp_path, study, machine="a") as first:
        measure(first, study, 1)
    other = spec.load("max_load_memcached", profile="standard")
    for asked, machine, resume in ((other, "a", True), (study, "b", True), (study, "a", False)):
        with store.open(tmp_path, asked, machine=machine, resume=resume) as record:
            assert record.outcomes() == ()


def test_a_record_goes_on_only_on_the_same_processor_and_kernel(
    study: Study, tmp_path: Path
) -> None:
    def about(kernel: str) -> dict[str, Any]:
        return {"environment": {"kernel": {"release": kernel}, "topology": {"model": "x"}}}

    with store.open(tmp_path, study, manifest=about("6.1")) as first:
        measure(first, study, 1)
    with store.open(tmp_path, study, manifest=about("6.18")) as other:
        assert other.path != first.path
    with store.open(tmp_path, study, manifest=about("6.1")) as again:
        assert again.path == first.path
        assert len(list(again.path.glob("resumed-*.json"))) == 1


@pytest.mark.parametrize(
    "now",
    [
        {"topology": {"model": "x", "allowed": [0, 1, 2, 3]}},
        {"topology": {"model": "x", "allowed": [0, 1]}, "cgroup": {"cpu_quota": 1.5}},
    ],
)
def test_a_record_goes_on_only_on_the_cpus_that_it_had(
    study: Study, tmp_path: Path, now: dict[str, Any]
) -> None:
    """A virtual machine may get more of them, and a container a quota: the peak is another."""
    had = {"topology": {"model": "x", "allowed": [0, 1]}, "cgroup": {"cpu_quota": None}}
    with store.open(tmp_path, study, machine="a", manifest={"environment": had}) as first:
        measure(first, study, 1)
    with store.open(tmp_path, study, machine="a", manifest={"environment": now}) as other:
        assert other.path != first.path
        assert other.outcomes() == ()
    with store.open(tmp_path, study, machine="a", manifest={"environment": had}) as again:
        assert again.path == first.path


@pytest.mark.parametrize("environment", [{"topology": []}, {"topology": "x"}, {"kernel": 3}])
def test_a_record_of_another_form_holds_up_no_run(
    study: Study, tmp_path: Path, environment: dict[str, Any]
) -> None:
    """Whoever may put a record into the folder would else end every run of the study."""
    with store.open(tmp_path, study, machine="a", manifest={"environment": environment}) as record:
        path = record.path
    about = {"environment": {"topology": {"model": "x"}, "kernel": {"release": "6"}}}
    with store.open(tmp_path, study, machine="a", manifest=about) as record:
        assert record.path == path, "what it does not say speaks against nothing"


def test_a_record_of_a_version_with_other_keys_holds_up_no_run(
    study: Study, tmp_path: Path
) -> None:
    with store.open(tmp_path, study, machine="a") as old:
        old.finish()
    file = old.path / "study.toml"
    file.write_text(f"{file.read_text()}\n[of_before]\nlength = 1\n")
    with store.open(tmp_path, study, machine="a") as record:
        assert record.path != old.path


def test_a_point_in_flight_is_forgotten_and_its_folder_left_alone(
    study: Study, tmp_path: Path
) -> None:
    with store.open(tmp_path, study) as record:
        measure(record, study, 1)
        point = next_point(study, record.outcomes(), PLANS)
        assert point is not None
        in_flight = record.folder(point)
        (in_flight / f".{OUTCOME}.part").write_bytes(b"half a file")
    with store.open(tmp_path, study) as record:
        assert len(record.outcomes()) == 1
        assert next_point(study, record.outcomes(), PLANS) == point
        assert record.folder(point) != in_flight
        assert in_flight.exists()


def test_two_live_writers_are_refused_and_the_owner_is_named(study: Study, tmp_path: Path) -> None:
    with (
        store.open(tmp_path, study),
        pytest.raises(StoreFault, match=f"process {os.getpid()}"),
    ):
        store.open(tmp_path, study)


def test_a_killed_writer_locks_no_one_out(study: Study, tmp_path: Path) -> None:
    program = textwrap.dedent("""
        import sys, time
        from pathlib import Path
        from sojourn import questions, spec, store
        study = spec.load("max_load_memcached", profile="quick")
        with store.open(Path(sys.argv[1]), study) as record:
            print(record.path, flush=True)
            time.sleep(60)
    """)
    command = [sys.executable, "-c", program, str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as child:
        assert child.stdout is not None
        path = Path(child.stdout.readline().strip())
        with pytest.raises(StoreFault, match=f"process {child.pid}"):
            store.open(tmp_path, study)
        child.send_signal(signal.SIGKILL)
    with store.open(tmp_path, study) as record:
        assert record.path == path


@pytest.mark.parametrize("version", ["sojourn.record/2", "sojourn.record/1x", "other/1", ""])
def test_a_folder_of_another_version_is_refused_and_not_written(
    study: Study, tmp_path: Path, version: str
) -> None:
    with store.open(tmp_path, study) as record:
        pass
    manifest = record.path / "manifest.json"
    table = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**table, "schema": version}), encoding="utf-8")
    with pytest.raises(StoreFault) as caught:
        store.read(record.path)
    assert str(manifest) in caught.value.at
    with pytest.raises(StoreFault) as caught:
        store.open(tmp_path, study)
    assert str(manifest) in caught.value.at


def test_an_outcome_of_a_newer_version_is_refused(study: Study, tmp_path: Path) -> None:
    with store.open(tmp_path, study) as record:
        retained = measure(record, study, 1)[0]
    path = record.folder_of(retained) / OUTCOME
    newer = to_table(retained).replace_schema_metadata({"schema": "sojourn.outcome/3"})
    pq.write_table(newer, path)
    with pytest.raises(StoreFault, match="outcome/3"):
        store.read(record.path).outcomes()
    path.write_bytes(b"nonsense")
    with pytest.raises(StoreFault) as caught:
        store.read(record.path).outcomes()
    assert str(path) in caught.value.at


def test_a_full_disk_is_named_and_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.json"
    files.write_text(path, "old")

    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StoreFault, match="disk is full") as caught:
        files.write_whole(path, full)
    assert "resumes" in caught.value.fix
    assert path.read_text(encoding="utf-8") == "old"
    with pytest.raises(StoreFault, match="nearly full"):
        files.check_space(tmp_path, spare_bytes=1 << 62)


def test_a_folder_that_cannot_be_written_is_named(study: Study, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreFault) as caught:
        store.open(tmp_path / "file", study)
    assert "--results" in caught.value.fix


def test_records_can_be_moved(study: Study, tmp_path: Path) -> None:
    with store.open(tmp_path / "a", study) as record:
        measure(record, study, 2)
    (tmp_path / "a").rename(tmp_path / "b")
    path = store.resolve(tmp_path / "b", None)
    moved = store.read(path)
    assert all(moved.folder_of(o).is_dir() for o in moved.outcomes())


def test_people_name_records_by_study_by_part_or_not_at_all(study: Study, tmp_path: Path) -> None:
    with pytest.raises(StoreFault, match="no record yet"):
        store.resolve(tmp_path, None)
    with store.open(tmp_path, study) as record:
        pass
    for name in (None, study.name, record.path.name[-4:], str(record.path)):
        assert store.resolve(tmp_path, name) == record.path
    with pytest.raises(StoreFault, match="no record 'nix'"):
        store.resolve(tmp_path, "nix")


def test_a_key_longer_than_a_file_name_may_be_still_has_its_folder(
    study: Study, tmp_path: Path
) -> None:
    point = next_point(study, [], PLANS)
    assert point is not None
    with store.open(tmp_path, study) as record:
        folders = {record.folder(replace(point, key="k" * 400)) for _ in range(2)}
    assert len(folders) == 2


def test_manifest_keeps_what_it_is_given_but_not_over_its_own_keys(
    study: Study, tmp_path: Path
) -> None:
    inputs: dict[str, Any] = {"environment": {"kernel": "6"}, "schema": "fake/9"}
    with store.open(tmp_path, study, manifest=inputs) as record:
        assert record.manifest["environment"] == {"kernel": "6"}
        assert record.manifest["schema"] == "sojourn.record/1"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives links away: needs root")
def test_a_way_to_the_records_that_somebody_else_laid_is_not_gone(
    study: Study, tmp_path: Path
) -> None:
    """As with `sudo sojourn run` in a folder that another user may fill."""
    results, elsewhere = tmp_path / "results", tmp_path / "elsewhere"
    elsewhere.mkdir()
    results.mkdir()
    (results / study.name).symlink_to(elsewhere)
    os.lchown(results / study.name, 65534, 65534)
    with pytest.raises(StoreFault, match="link that user 65534 has made"):
        store.open(results, study)
    os.lchown(results / study.name, 0, 0)
    with store.open(results, study) as record:
        assert record.path.is_relative_to(results)


def test_a_lock_that_was_planted_is_not_written_through_and_holds_up_no_one(
    study: Study, tmp_path: Path
) -> None:
    with store.open(tmp_path / "results", study) as record:
        measure(record, study, 1)
    victim, lock = tmp_path / "victim", record.path / "lock"
    victim.write_text("kept")
    lock.unlink()
    lock.symlink_to(victim)
    with pytest.raises(StoreFault, match="cannot write"):
        store.open(tmp_path / "results", study)
    lock.unlink()
    lock.hardlink_to(victim)
    with pytest.raises(StoreFault, match="not a plain file"):
        store.open(tmp_path / "results", study)
    assert victim.read_text() == "kept"
    lock.unlink()
    os.mkfifo(lock)
    assert not store.is_live(record.path)  # and does not wait for whoever writes into it
