"""A service of a record: what counts, and what does not."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import samples, spec, store
from sojourn.errors import SpecFault, StoreFault
from sojourn.foresight import study, victims
from sojourn.foresight.doses import NONE, Dose
from sojourn.plan.next import Planner
from sojourn.plan.points import Outcome, Phase, Verdict
from sojourn.plan.setting import NEIGHBOUR
from sojourn.samples import made
from sojourn.samples.names import HOST
from sojourn.store.record import Record
from sojourn.testing_questions import PLANS

XZ = "batch:xz,where=server"
MANIFEST = {"environment": {"name": "vm", "topology": {"model": "made", "allowed": [0, 1]}}}


def record(folder: Path, change: Callable[[Outcome], Outcome] = lambda one: one) -> Record:
    """A record of the printed study, with times of 1 ms alone and 3 ms beside."""
    file = folder / "m.toml"
    file.write_text(study.text("memcached", [XZ]))
    asked = spec.load(file)
    planner = Planner(asked, PLANS)
    with store.open(folder / "results", asked, machine="vm", manifest=MANIFEST) as opened:
        while (point := planner.next(opened.outcomes())) is not None:
            at = opened.folder(point)
            is_alone = point.setting.get(NEIGHBOUR, NONE) == NONE
            rps = point.offered_rps or 10_000.0
            times = [1e6 if is_alone else 3e6] * 400
            made.put(at, point, made.result(times, offered_rps=rps, achieved_rps=rps))
            host = {"server_cpu_share": 0.4, "neighbours_on_server_share": 0.0 if is_alone else 0.5}
            (at / HOST).write_text(json.dumps({"schema": "sojourn.host/1", **host}))
            opened.add(change(replace(samples.read(at), wall_s=1.0)))
        opened.finish()
        return store.read(opened.path)


def test_a_record_of_the_study_is_one_service_with_doses_and_neighbours(tmp_path: Path) -> None:
    (one,) = victims.read(record(tmp_path))
    assert one.label == "memcached"
    assert one.neighbours == (XZ,)
    assert len(one.doses) == len(study.DOSES)
    assert Dose("llc", 0.5) in one.doses
    assert len(one.levels[NONE]) == len(study.FRACTIONS)
    assert [run.rps for run in one.levels[XZ]] == sorted(run.rps for run in one.levels[XZ])
    assert one.levels[NONE][0].tails[0.99] == pytest.approx(1e6, rel=0.01)
    assert one.levels[XZ][0].tails[0.99] == pytest.approx(3e6, rel=0.01)
    assert one.levels[XZ][0].others == 0.5
    assert one.place["CPU"] == "made"
    assert one.place["shield"] == "none"


def test_runs_whose_checks_failed_are_left_out_and_lost_requests_are_evidence(
    tmp_path: Path,
) -> None:
    def spoiled(one: Outcome) -> Outcome:
        if one.point.phase != Phase.SWEEP:
            return one
        if one.point.setting.get(NEIGHBOUR) == XZ:
            return replace(one, verdict=Verdict.UNKNOWN, lost=one.requests // 10, p99_ns=None)
        if one.point.setting.get(NEIGHBOUR) == "noise:cpu@25%,where=server":
            return replace(
                one, verdict=Verdict.UNKNOWN, reasons=("neighbour did not hold its intensity",)
            )
        return one

    (one,) = victims.read(record(tmp_path, spoiled))
    assert math.isinf(one.levels[XZ][0].tails[0.99])
    assert Dose("cpu", 0.25) not in one.doses
    assert one.left_out["noise:cpu@25%,where=server"] == len(study.FRACTIONS)


def test_requests_that_failed_without_a_wait_are_no_queue(tmp_path: Path) -> None:
    """Refused, cut off or wrong replies say nothing of the load that a service carries."""

    def refused(one: Outcome) -> Outcome:
        if one.point.phase != Phase.SWEEP or one.point.setting.get(NEIGHBOUR) != XZ:
            return one
        lost = one.requests // 10
        return replace(one, verdict=Verdict.UNKNOWN, lost=lost, failed=lost, p99_ns=None)

    (one,) = victims.read(record(tmp_path, refused))
    assert XZ not in one.levels
    assert one.left_out[XZ] == len(study.FRACTIONS)


@pytest.mark.parametrize("has_grown", [True, False])
def test_a_dose_without_its_high_loads_says_nothing_unless_the_queue_grew(
    tmp_path: Path,
    has_grown: bool,  # noqa: FBT001
) -> None:
    """Its border would be on the line from the lowest load to the peak alone."""
    level = "noise:llc@50%,where=server"

    def spoiled(one: Outcome) -> Outcome:
        is_it = one.point.phase == Phase.SWEEP and one.point.setting.get(NEIGHBOUR) == level
        if not is_it or one.offered_rps < 2_000:
            return one
        if has_grown and one.offered_rps < 3_500:
            return replace(one, verdict=Verdict.UNKNOWN, lost=one.requests // 10, p99_ns=None)
        return replace(one, verdict=Verdict.UNKNOWN, reasons=("late",))

    (one,) = victims.read(record(tmp_path, spoiled))
    assert (Dose("llc", 0.5) in one.doses) == has_grown
    assert Dose("llc", 1.0) in one.doses


def test_a_service_with_two_loads_alone_has_no_curve(tmp_path: Path) -> None:
    def spoiled(one: Outcome) -> Outcome:
        is_alone = one.point.phase == Phase.SWEEP and one.point.setting.get(NEIGHBOUR) == NONE
        is_high = is_alone and one.offered_rps > 3_500
        return replace(one, verdict=Verdict.UNKNOWN, reasons=("late",)) if is_high else one

    assert victims.read(record(tmp_path, spoiled)) == []


def test_a_neighbour_that_is_slower_than_asked_is_still_a_neighbour(tmp_path: Path) -> None:
    def slow(reason: str) -> Callable[[Outcome], Outcome]:
        reasons = (reason,) if reason else ()

        def change(one: Outcome) -> Outcome:
            is_met = one.point.phase == Phase.SWEEP and one.point.setting.get(NEIGHBOUR) == XZ
            return replace(one, verdict=Verdict.UNKNOWN, reasons=reasons) if is_met else one

        return change

    for number, (reason, count) in enumerate(
        (("x did not hold its intensity: 1", 1), ("late", 0), ("", 0))
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        (one,) = victims.read(record(folder, slow(reason)))
        assert len(one.neighbours) == count


def test_runs_beside_strangers_are_left_out(tmp_path: Path) -> None:
    made_record = record(tmp_path)
    for path in made_record.path.glob("points/*cpu-25*/host.json"):
        table = json.loads(path.read_text())
        path.write_text(json.dumps({**table, "others_on_server_share": 0.7}))
    (one,) = victims.read(made_record)
    assert Dose("cpu", 0.25) not in one.doses
    assert Dose("cpu", 0.5) in one.doses


def test_records_of_one_service_in_one_place_are_one(tmp_path: Path) -> None:
    (one,) = victims.read(record(tmp_path))
    elsewhere = replace(one, place={**one.place, "CPU": "another"})
    both, other = victims.together([one, replace(one, peak_rps=one.peak_rps * 2), elsewhere])
    assert len(both.levels[NONE]) == 2 * len(one.levels[NONE])
    assert both.peak_rps == pytest.approx(1.5 * one.peak_rps)
    assert other is elsewhere


@pytest.mark.parametrize(
    ("before", "after"),
    [("threads = 1", "threads = 2"), ("connections = 16", "connections = 64")],
)
def test_a_service_that_ran_or_was_loaded_otherwise_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    (one,) = victims.read(record(tmp_path))
    text = study.text("memcached", [XZ])
    assert before in text
    monkeypatch.setattr(study, "text", lambda *_: text.replace(before, after))
    (folder := tmp_path / "other").mkdir()
    (other,) = victims.read(record(folder))
    assert victims.together([one, other]) == [one, other]


def test_records_are_read_newest_first_whatever_their_folders_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "study/vm"
    for name, month in (("alpha", 3), ("20260201T000000Z-aaaa", 2), ("zulu", 1)):
        (home / name).mkdir(parents=True)
        manifest = {"started": f"2026-{month:02d}-01T00:00:00+00:00"}
        (home / name / "manifest.json").write_text(json.dumps(manifest))
    read: list[str] = []

    def note(path: Path) -> Record:
        read.append(path.name)
        raise StoreFault("none", at="here", fix="none")

    monkeypatch.setattr(store, "read", note)
    assert victims.all_of(tmp_path) == []
    assert read == ["alpha", "20260201T000000Z-aaaa", "zulu"]


def test_runs_beside_one_dose_are_together_however_it_was_written(tmp_path: Path) -> None:
    (one,) = victims.read(record(tmp_path))
    runs = one.levels["noise:llc@50%,where=server"]
    levels = {NONE: runs, "noise:llc@50%": runs[:2], "noise:llc@50%,where=server": runs[2:]}
    both = replace(one, levels={**levels, "noise:llc@50%,where=free": runs[:1]})
    assert both.doses == {Dose("llc", 0.5): [*runs], Dose("llc", 0.5, "where=free"): [*runs[:1]]}


def test_all_records_of_a_folder_are_read_and_damaged_ones_are_passed_by(tmp_path: Path) -> None:
    record(tmp_path)
    broken = tmp_path / "results" / "other" / "vm" / "20260101T000000Z-0000"
    broken.mkdir(parents=True)
    (broken / "manifest.json").write_text("{")
    assert [one.label for one in victims.all_of(tmp_path / "results")] == ["memcached"]
    with pytest.raises(SpecFault, match="no such results folder"):
        victims.all_of(tmp_path / "nowhere")
