"""What is said where records lack: a way to measure what is missing, with minutes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sojourn.errors import SpecFault
from sojourn.foresight import lacking, study, testing
from sojourn.foresight.doses import NONE
from sojourn.foresight.forecast import forecast
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


def only(of: Victim, *resources: str) -> Victim:
    """As if it had been measured beside doses of these alone."""
    known = (NONE, B, *(f"noise:{name}@" for name in resources))
    levels = {level: runs for level, runs in of.levels.items() if level.startswith(known)}
    return replace(of, levels=levels)


def test_rulers_without_doses_in_common_are_not_compared_at_once() -> None:
    own, one, other = victims("memcached", "nginx", "redis")
    apart = [own, only(one, "cpu", "llc"), only(other, "membw", "network")]
    known = lacking.known(apart, "memcached", "batch:xz")
    assert [ruler.label for ruler, _ in known.rulers] == ["nginx"]  # five doses; the other has four
    result = forecast(known.service, known.rulers, known.level, 0.99, bound_ns=2e6)
    assert result.border_rps.lo <= result.border_rps.value <= result.border_rps.hi
    assert result.not_compared == ("disk", "membw", "network", "syscalls")
    whole = lacking.known([own, only(one, "cpu", "llc"), other], "memcached", "batch:xz")
    assert len(whole.rulers) == 2


def placed(of: Victim, places: dict[str, str]) -> Victim:
    """The same with some levels at other places."""
    levels = {places.get(name, name): runs for name, runs in of.levels.items()}
    return replace(of, levels=levels)


def test_doses_on_other_cpus_are_other_doses() -> None:
    own, other = victims("memcached", "nginx")
    free = placed(other, {level: f"{level},where=free" for level in study.DOSES})
    assert "4 of the same doses" in refused([own, free]).what
    server = placed(other, {level: f"{level},where=server" for level in study.DOSES})
    assert len(lacking.known([own, server], "memcached", "batch:xz").rulers) == 1


def test_a_neighbour_on_other_cpus_is_another_neighbour() -> None:
    own, *others = victims("memcached", "nginx", "redis")
    one, free = (
        placed(ruler, {B: f"batch:xz,where={place}"})
        for ruler, place in zip(others, ("one", "free"), strict=True)
    )
    fault = refused([own, one, free])
    assert fault.at == "--beside"
    assert "ran in 2 ways: 'batch:xz,where=free', 'batch:xz,where=one'" in fault.what
    for asked, label in (("batch:xz,where=free", "redis"), ("batch:xz,where=one", "nginx")):
        known = lacking.known([own, one, free], "memcached", asked)
        assert [ruler.label for ruler, _ in known.rulers] == [label]
    assert lacking.known([own, others[0], free], "memcached", "batch:xz").level == B


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
