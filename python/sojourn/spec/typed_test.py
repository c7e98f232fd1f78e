"""What people type is taken as they mean it, or refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import spec
from sojourn.errors import SpecFault
from sojourn.spec.run import RAW_MAX, RAW_MOST
from sojourn.spec.spec_test import MINIMAL, put
from sojourn.testing_questions import PLANS

THREADS = "services.memcached.params.threads"
HUGE, NO_INT = "1" + "0" * 400, "9" * 5000  # no float has the one, and Python reads no such integer


@pytest.mark.parametrize("number", [HUGE, NO_INT], ids=["huge", "no integer"])
@pytest.mark.parametrize(
    "key", ["probe", "seed", "run.measure_s", THREADS, "services.memcached.cores"]
)
def test_a_number_that_no_float_holds_is_refused(key: str, number: str, tmp_path: Path) -> None:
    with pytest.raises(SpecFault) as caught:
        spec.load(put(tmp_path, MINIMAL), overrides=(f"{key}={number}",))
    assert caught.value.at.startswith(f"--set {key}")


@pytest.mark.parametrize("number", [HUGE, NO_INT, "1e400"], ids=["huge", "no integer", "inf"])
def test_a_rate_that_no_float_holds_is_refused(number: str, tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match="is not a number such as"):
        spec.load(put(tmp_path, MINIMAL), varied=(f"rate=1k,{number}",))


def test_a_rate_keeps_all_its_digits(tmp_path: Path) -> None:
    study = spec.load(put(tmp_path, MINIMAL), overrides=("run.rates=[20000, 12345678901]",))
    assert study.run.rates == ("20000", "12345678901")


@pytest.mark.parametrize("label", ["0", "false", "[]", "{}", "0.0"])
def test_a_label_that_is_no_text_is_refused(label: str, tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match="label is"):
        spec.load(put(tmp_path, MINIMAL), overrides=(f"services.0.label={label}",))


def test_an_empty_label_is_the_kind(tmp_path: Path) -> None:
    study = spec.load(put(tmp_path, MINIMAL), overrides=('services.0.label=""',))
    assert study.services[0].label == "memcached"


@pytest.mark.parametrize("rest", ["seed = 3", "[run]", "x.y = 1"])
def test_further_lines_of_a_value_are_no_keys_that_get_lost(rest: str, tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match="not a whole number"):
        spec.load(put(tmp_path, MINIMAL), overrides=(f"run.repeats=2\n{rest}",))


@pytest.mark.parametrize("key", ["design.kind", "design.p", "factors.seed", "factors.load"])
def test_what_says_which_combinations_are_measured_is_not_varied(key: str, tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match=f"{key} cannot be varied") as caught:
        spec.load(put(tmp_path, MINIMAL), varied=(f"{key}=1,2",))
    assert caught.value.at == f"--vary {key}=1,2"


def test_a_factor_of_no_table_names_the_nearest_and_the_option(tmp_path: Path) -> None:
    option = "service.memcached.params.threads=1,2"
    with pytest.raises(SpecFault, match="no key 'service'") as caught:
        spec.load(put(tmp_path, MINIMAL), varied=(option,))
    assert (caught.value.at, "services" in caught.value.fix) == (f"--vary {option}", True)


@pytest.mark.parametrize(
    ("sets", "varied"),
    [
        ((), ("load=0.1,0.2", "rate=1k,2k")),
        ((), ("rate=1k,2k", "load=0.1,0.2")),
        (("run.fractions=[0.3]",), ("load=0.1,0.2",)),
        (("run.rates=[100]",), ("load=0.1,0.2",)),
        (("run.fractions=[0.3]",), ("rate=1k,2k",)),
    ],
)
def test_loads_that_are_asked_in_two_ways_are_refused(
    sets: tuple[str, ...], varied: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(SpecFault, match="both say the loads"):
        spec.load(put(tmp_path, MINIMAL), overrides=sets, varied=varied)


@pytest.mark.parametrize(
    ("in_file", "typed", "rates", "fractions"),
    [
        ("fractions = [0.1, 0.2]", 'run.rates=["1k"]', ("1k",), ()),
        ('rates = ["1k"]', "run.fractions=[0.3]", (), (0.3,)),
    ],
)
def test_loads_that_are_set_take_the_place_of_those_in_the_file(
    *,
    in_file: str,
    typed: str,
    rates: tuple[str, ...],
    fractions: tuple[float, ...],
    tmp_path: Path,
) -> None:
    path = put(tmp_path, MINIMAL.replace("[run]", f"[run]\n{in_file}"))
    study = spec.load(path, overrides=(typed,))
    assert (study.run.rates, study.run.fractions) == (rates, fractions)


def test_levels_that_are_set_and_varied_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match="is given twice"):
        spec.load(
            put(tmp_path, MINIMAL),
            overrides=(f"factors.{THREADS}=[1, 2]",),
            varied=(f"{THREADS}=3,4",),
        )


def test_an_empty_profile_is_no_profile(tmp_path: Path) -> None:
    with pytest.raises(SpecFault, match="no profile ''") as caught:
        spec.load(put(tmp_path, MINIMAL), profile="")
    assert caught.value.at == "--profile"


@pytest.mark.parametrize("level", ["[1]", "2020-01-01", "{}"])
def test_a_level_of_another_type_names_all_that_may_be(level: str, tmp_path: Path) -> None:
    path = put(tmp_path, f'{MINIMAL}\n[factors]\n"{THREADS}" = [1, {level}]\n')
    with pytest.raises(SpecFault, match="not a number, text in quotes, or true or false"):
        spec.load(path)


def test_a_file_with_the_mark_of_windows_editors_is_read(tmp_path: Path) -> None:
    path = put(tmp_path, MINIMAL)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert spec.load(path).name


def test_no_more_raw_requests_are_stored_than_are_read(tmp_path: Path) -> None:
    path = put(tmp_path, MINIMAL)
    assert spec.load(path, overrides=(f"run.raw_max={RAW_MOST}",)).run.raw_max == RAW_MOST
    with pytest.raises(SpecFault, match=r"run\.raw_max is 30000001") as caught:
        spec.load(path, overrides=(f"run.raw_max={RAW_MOST + 1}",))
    assert caught.value.at == f"--set run.raw_max={RAW_MOST + 1}"
    own = path.read_text().replace("[run]", f"[run]\nraw_max = {RAW_MAX}")
    path.write_text(own)
    assert spec.load(path, is_own=True).run.raw_max == RAW_MAX, "records are read as before"


@pytest.mark.parametrize("profile", ["[[1]]", "{}", "1", "nan"])
def test_a_profile_that_is_no_name_is_refused(profile: str, tmp_path: Path) -> None:
    by_option = (f"run.profile={profile}",)
    with pytest.raises(SpecFault, match="there is no profile") as caught:
        spec.load(put(tmp_path, MINIMAL), overrides=by_option)
    assert caught.value.at == f"--set {by_option[0]}"


@pytest.mark.parametrize("level", ["nan", "inf", "-inf"])
def test_a_level_that_is_no_number_is_none_of_a_factor(level: str, tmp_path: Path) -> None:
    varied = f'{MINIMAL}\n[factors]\n"{THREADS}" = [1, 2]\n'
    skip = f'[[design.skip]]\nlevels = {{ "{THREADS}" = {level} }}\nreason = "so"\n'
    listed = f'[design]\nkind = "listed"\ncombinations = [{{ "{THREADS}" = {level} }}]\n'
    for design in (skip, listed):
        with pytest.raises(SpecFault, match=f"threads has no level {level}"):
            spec.load(put(tmp_path, varied + design))


@pytest.mark.parametrize(
    ("study", "text"),
    [
        ("selfcheck", "services.mm1.check.rho=[]"),
        ("blame", f"services.memcached.blame.rate={HUGE}"),
    ],
)
def test_what_questions_ask_is_held_to_the_same(study: str, text: str) -> None:
    with pytest.raises(SpecFault, match=r"rho is empty|is not a number"):
        spec.load(study, overrides=(text,), asks=PLANS.mistakes)


@pytest.mark.parametrize("key", ["hosts", "hosts.platforms"])
@pytest.mark.parametrize("levels", ["1,2", "a,b", "true,false"])
def test_levels_in_the_place_of_a_table_are_refused(key: str, levels: str, tmp_path: Path) -> None:
    path = put(tmp_path, f'{MINIMAL}\n[hosts]\nat = "local:2"\n')
    with pytest.raises(SpecFault) as caught:
        spec.load(path, varied=(f"{key}={levels}",))
    assert caught.value.at.startswith((f"--vary {key}", f"{path}"))
