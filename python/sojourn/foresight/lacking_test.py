"""What is said where records lack: a way to measure what is missing, with minutes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.errors import SpecFault
from sojourn.foresight import lacking, study, testing
from sojourn.foresight.doses import NONE
from sojourn.foresight.victims import Victim

B = "batch:xz,where=server"


def victims(*labels: str) -> list[Victim]:
    rng = np.random.default_rng(1)
    return [testing.victim(testing.service(one, rng), {B: {"cpu": 0.5}}, rng) for one in labels]


def refused(
    every: list[Victim], service: str = "memcached", neighbour: str = "batch:xz"
) -> SpecFault:
    with pytest.raises(SpecFault) as caught:
        lacking.known(every, service, neighbour)
    return caught.value


def test_the_neighbour_is_found_however_it_was_placed() -> None:
    known = lacking.known(victims("memcached", "nginx", "redis"), "memcached", "batch:xz")
    assert known.level == B
    assert [one.label for one, _ in known.rulers] == ["redis", "nginx"]


def test_a_service_without_a_record_gets_the_command_and_its_minutes() -> None:
    fault = refused(victims("nginx"), "memcached")
    assert "no record says how 'memcached'" in fault.what
    assert "sojourn predict --service memcached --study > foresight_memcached.toml" in fault.fix
    assert f"({study.minutes(0):.0f} minutes)" in fault.fix
    assert "did you mean memcached" in refused(victims("memcached"), "memcache").fix


def test_a_record_with_few_doses_says_how_many_it_needs() -> None:
    one = victims("memcached")[0]
    few = {level: runs for level, runs in one.levels.items() if level in (NONE, B, "noise:cpu@50%")}
    assert "have 1 doses, a forecast needs 4" in refused([replace(one, levels=few)]).what


def test_a_neighbour_that_only_the_service_itself_met_needs_another_service() -> None:
    fault = refused(victims("memcached"))
    assert fault.at == "--beside"
    assert "--service synthetic --beside batch:xz --study" in fault.fix


def test_a_neighbour_that_is_not_known_is_compared_with_those_that_are() -> None:
    fault = refused(victims("memcached", "nginx"), neighbour="batch:xy")
    assert "did you mean batch:xz?" in fault.fix
    assert "--service nginx --beside batch:xy --study" in fault.fix


def test_another_machine_is_refused_by_name() -> None:
    own, other = victims("memcached", "nginx")
    fault = refused([own, replace(other, place={**other.place, "CPU": "another"})])
    assert "under another CPU: made up and another" in fault.what
    assert own.record in fault.at
    assert other.record in fault.at


def test_another_shield_is_another_circumstance() -> None:
    own, other = victims("memcached", "nginx")
    fault = refused([own, replace(other, place={**other.place, "shield": "priority"})])
    assert "another shield" in fault.what


def test_a_neighbour_that_never_ran_predicts_nothing() -> None:
    own, other = victims("memcached", "nginx")
    idle = [replace(run, progress=None, others=0.0) for run in other.levels[B]]
    fault = refused([own, replace(other, levels={**other.levels, B: idle})])
    assert "did no work beside nginx" in fault.what
    assert "neighbour-0.log" in fault.fix


def test_the_study_it_writes_has_every_dose_and_the_neighbours() -> None:
    text = study.text("redis", ["batch:xz,where=server"])
    assert all(f'"{dose},where=server",' in text for dose in study.DOSES)
    assert '"batch:xz,where=server",' in text
    assert study.minutes(1) > study.minutes(0)
    with pytest.raises(SpecFault, match="there is no service 'rediss'") as caught:
        study.text("rediss")
    assert "did you mean redis?" in caught.value.fix
