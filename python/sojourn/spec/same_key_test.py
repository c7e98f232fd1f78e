"""One key of a service that is written in two ways: by its label, its number, or of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import spec
from sojourn.errors import SpecFault
from sojourn.spec.spec_test import MINIMAL, fault, put

EACH, OWN = "services.each.params.threads", "services.memcached.params.threads"
NUMBERED = "services.0.params.threads"


def varying(key: str) -> str:
    return f'{MINIMAL}\n[factors]\n"{key}" = [1, 2]\n'


@pytest.mark.parametrize(
    ("key", "option"), [(EACH, OWN), (EACH, NUMBERED), (OWN, NUMBERED), (OWN, OWN)]
)
def test_to_set_what_the_study_varies_is_refused_however_it_is_written(
    key: str, option: str, tmp_path: Path
) -> None:
    path = put(tmp_path, varying(key))
    with pytest.raises(SpecFault, match=f"the study varies {key}") as caught:
        spec.load(path, overrides=(f"{option}=4",))
    assert caught.value.at == f"--set {option}=4"


def test_to_set_and_vary_one_key_is_refused_however_it_is_written(tmp_path: Path) -> None:
    path = put(tmp_path, MINIMAL)
    with pytest.raises(SpecFault, match="is given twice"):
        spec.load(path, overrides=(f"{NUMBERED}=4",), varied=(f"{EACH}=1,2",))
    with pytest.raises(SpecFault, match="is given twice"):
        spec.load(path, varied=(f"{OWN}=1,2", f"{EACH}=1,2"))


def test_two_factors_of_one_key_are_refused_because_one_would_have_no_effect(
    tmp_path: Path,
) -> None:
    wrong = fault(tmp_path, f'{varying(OWN)}"{EACH}" = [3, 4]\n')
    assert f"{EACH} and {OWN} set the same key" in wrong.what
    with pytest.raises(SpecFault, match="set the same key"):
        spec.load(put(tmp_path, varying(OWN)), varied=(f"{EACH}=3,4",))


def test_what_the_command_line_sets_stays_whatever_a_profile_has(tmp_path: Path) -> None:
    by_profile = """
[profiles.quick]
run.fractions = [0.3]
run.search.budget_s = 77.0
"""
    path = put(tmp_path, MINIMAL + by_profile)
    assert spec.load(path, profile="quick").run.search.budget_s == 77
    table = spec.load(path, profile="quick", overrides=("run.search={budget_s=9.0}",))
    assert table.run.search.budget_s == 9
    varied = spec.load(path, profile="quick", varied=("rate=10k,20k",))
    typed = spec.load(path, profile="quick", overrides=('run.rates=["10k", "20k"]',))
    for run in (varied.run, typed.run):
        assert (run.rates, run.fractions) == (("10k", "20k"), ())
    assert spec.load(path, profile="quick", varied=("load=0.5,0.6",)).run.fractions == (0.5, 0.6)
