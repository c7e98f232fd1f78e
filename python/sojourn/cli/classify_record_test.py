"""A record is read into scenarios: threads, samples at the crossing, and what is not seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import store
from sojourn.models.classify import evidence, planted
from sojourn.models.classify import record as reading
from sojourn.models.classify.answer import Class
from sojourn.models.classify.planted import Planted
from sojourn.models.classify.record import classes as classes_of
from sojourn.models.classify.scenario import Carried
from sojourn.models.classify.testing import record
from sojourn.questions import PLANS, answers, readers
from sojourn.record.load import study_data
from sojourn.report import testing, testing_answers


def classes(retained: store.Record) -> tuple[Class, ...]:
    return classes_of(retained, study_data(retained, PLANS, readers()), answers())


def test_a_record_is_classified_at_the_highest_load_within_qos(tmp_path: Path) -> None:
    (result,) = classes(store.read(record(tmp_path, Planted(serial=1.0))))
    assert [seen.name for seen in result.scenarios] == ["1-ST", "8-ST"]
    one = planted.use(Planted(serial=1.0), 1).rps
    assert result.scenarios[0].load_rps == pytest.approx(
        one * 0.6 / 0.75, rel=1e-3
    )  # loads have four digits
    assert (result.scalable.word, result.smt.word, result.critical.word) == (
        "no",
        "no",
        "CPU, not scalable",
    )
    assert result.scalable.number is not None  # what it carried is known
    assert result.scalable.number.value == pytest.approx(1.0, rel=1e-6)


def test_cores_of_each_service_are_scenarios_as_the_papers_studies_have_them(
    tmp_path: Path,
) -> None:
    """Records of `tailbench` and `resource_use`: the factor is a key of every service."""
    (result,) = classes(store.read(record(tmp_path, Planted(serial=1.0), is_by_cores=True)))
    assert result.service == "memcached"
    assert [seen.name for seen in result.scenarios] == ["1-ST", "8-ST"]
    assert result.scalable.word == "no"


def test_cpu_is_a_share_of_the_cpus_of_the_threads(tmp_path: Path) -> None:
    """The probe counts it over all CPUs of the service, of which two stand idle here."""
    path = record(tmp_path, Planted(), idle_cpus=2)
    (result,) = classes(store.read(path))
    (one, *_) = result.readings
    at = planted.use(Planted(), 1).rates["service_cpu_share"] * 0.6 / 0.75
    assert one.what == "CPU use, 1-ST"
    assert one.ends is not None
    assert one.ends.value == pytest.approx(at, rel=0.1)  # of noise of 0.1, thirty samples


def test_a_service_that_no_load_suits_carries_nothing_and_has_no_ratio() -> None:
    """The lowest load that was tried is no load that was carried."""
    nothing = testing_answers.max_load(testing_answers.border(9_000.0, 0.0, 0.0))
    carried = reading._carried(testing.memcached().having("max_load", nothing))
    assert carried == Carried(rps=0.0, lo=0.0, hi=0.0)
    known = Carried(rps=100.0, lo=90.0, hi=110.0)
    assert evidence.times(carried, known) is None
    assert evidence.times(known, carried) is None
