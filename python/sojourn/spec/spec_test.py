"""Studies: what is refused and how, what profiles fill in, and that nothing is lost in writing."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn import spec
from sojourn.errors import SpecFault
from sojourn.spec import PROFILES, Study
from sojourn.spec.kinds import RESERVED, schema

MINIMAL = """\
# A question.
name = "mine"
question = "How fast?"

[run]
repeats = 3

[[services]]
kind = "memcached"

[services.qos]
q = 0.99
bound = "1ms"

[services.load]
connections = 8
"""


def put(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def fault(folder: Path, text: str) -> SpecFault:
    with pytest.raises(SpecFault) as caught:
        spec.load(put(folder, text))
    assert caught.value.fix, "every fault says how to fix it"
    return caught.value


def test_a_bound_without_unit_is_refused_as_a_level_and_read_from_a_record(tmp_path: Path) -> None:
    levels = '[factors]\n"services.memcached.qos.bound" = ["5", "7ms"]\n'
    assert "the bound '5' has no unit" in fault(tmp_path, MINIMAL + levels).what
    old = put(tmp_path, MINIMAL.replace("1ms", "5"))
    qos = spec.load(old, is_own=True).services[0].qos
    assert qos is not None
    assert qos.bound_ns == 5_000_000_000


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "what", "fix"),
    [
        ("repeats = 3", "repeets = 3", 6, "run.repeets", "no key 'repeets'", "repeats"),
        ("repeats = 3", 'repeats = "3"', 6, "run.repeats", "not a whole number", "whole number"),
        ("repeats = 3", "repeats = 0", 6, "run.repeats", "at least 1", "at least 1"),
        ("repeats = 3", "measure_s = -1", 6, "run.measure_s", "above 0", "above 0"),
        ("repeats = 3", "fractions = [0.1, -2]", 6, "run.fractions", "above 0", "above 0"),
        ("repeats = 3", "fractions = [0.1, 0.1]", 6, "run.fractions", "twice", "repeats"),
        ("repeats = 3", 'profile = "fast"', 6, "run.profile", "no profile 'fast'", "quick"),
        ("q = 0.99", "q = 1.5", 12, "services[0].qos.q", "between 0 and 1", "0.99"),
        ('"1ms"', '"500"', 13, "services[0].qos.bound", "'500' has no unit", "5ms"),
        ('"1ms"', '"1e300s"', 13, "services[0].qos.bound", "not a time", ""),
        ('"1ms"', '"-1ms"', 13, "services[0].qos.bound", "negative", "0 or more"),
        ('"1ms"', '"soon"', 13, "services[0].qos", "not a time", ""),
        ('"1ms"', '""', 11, "services[0].qos", "missing", "lqos"),
        ("[services.qos]", "[services.qs]", 11, "services[0].qs", "no key 'qs'", "qos"),
        ('"memcached"', '"memcache"', 9, "services[0].kind", "no kind", "memcached"),
        ("connections", "conections", 16, "services[0].load.conections", "no key", "connections"),
        ("connections = 8", "connections = -8", 16, "services[0].load.", "outside", "0"),
        ("connections = 8", 'rate = "5k"', 16, "services[0].load.rate", "plan sets", "fractions"),
        ("connections = 8", 'arrivals = "poison"', 16, "load.arrivals", "no kind", "poisson"),
        ('question = "How fast?"', "", 1, "question", "missing", "add question"),
        ("[run]", 'neighbour = "sping"\n[run]', 5, "neighbour", "no neighbour 'sping'", "spin?"),
        ("[run]", 'neighbour = "spin:here"\n[run]', 5, "neighbour", "'here'", "server, client"),
        ("[run]", 'neighbour = "none:server"\n[run]', 5, "neighbour", "is not a", '"spin:server"'),
        ("[run]", 'neighbour = "null:lab"\n[run]', 5, "neighbour", "no place", "write null"),
        ("[run]", 'neighbour = "noise:lcc"\n[run]', 5, "neighbour", "kind is 'lcc'", "llc"),
        ("[run]", 'neighbour = "noise:cpu@150%"\n[run]', 5, "neighbour", "150%", "0% to 100%"),
        ("[run]", 'neighbour = "spin:a=1"\n[run]', 5, "neighbour", "parameter 'a'", "where"),
        ("[run]", 'neighbour = "noise:cpu,2"\n[run]', 5, "neighbour", "no name", "NAME=VALUE"),
        (
            '"memcached"',
            '"memcached"\nplace = "nets"',
            10,
            "services[0].place",
            "no place",
            "netns?",
        ),
        (
            "[services.load]",
            "[services.knobs]\ncpuse = '0'\n[services.load]",
            16,
            "services[0].knobs.cpuse",
            "no knob 'cpuse'",
            "mean cpuset",
        ),
        (
            "[services.load]",
            "[services.knobs]\ncpuset = 'two'\n[services.load]",
            16,
            "services[0].knobs.cpuset",
            '"two"',
            '"0-1"',
        ),
        (
            "[services.load]",
            "[services.knobs]\ncpuset = true\n[services.load]",
            16,
            "services[0].knobs.cpuset",
            "is true",
            '"0-1"',
        ),
        ("[run]", 'manager = "nul"\n[run]', 5, "manager", "no manager 'nul'", "null"),
    ],
)
def test_a_mistake_is_named_with_its_line_its_key_and_its_fix(
    tmp_path: Path, *, old: str, new: str, line: int, key: str, what: str, fix: str
) -> None:
    assert old in MINIMAL
    spec_fault = fault(tmp_path, MINIMAL.replace(old, new))
    assert f"mine.toml:{line}  " in spec_fault.at, spec_fault.at
    assert key in spec_fault.at
    assert what in spec_fault.what, spec_fault.what
    assert fix in spec_fault.fix, spec_fault.fix
    assert spec_fault.exit == 2


def test_all_mistakes_are_named_at_once_in_file_order(tmp_path: Path) -> None:
    text = MINIMAL.replace("repeats = 3", "repeats = 0\nrounds = 1").replace('"1ms"', '"soon"')
    text = text.replace("connections = 8", 'conections = 8\narrivals = "poison"')
    text += '\n[[services]]\nkind = "memcache"\nlabel = "other"\nmeasure = ["sweep"]\n'
    with pytest.raises(SpecFault) as caught:
        spec.load(put(tmp_path, text), profile="fast", overrides=["nothing", "seed=0"])
    each = caught.value.each
    results = [fault.at.replace(str(tmp_path / "mine.toml"), "") for fault in each]
    assert results == [
        "--set nothing",
        "--profile",
        "--set seed=0",
        ":6  run.repeats",
        ":7  run.rounds",
        ":14  services[0].qos.bound",
        ":17  services[0].load.conections",
        ":18  services[0].load.arrivals",
        ":21  services[1].kind",
    ]
    assert all(fault.what and fault.fix for fault in each)
    assert caught.value.what.startswith(each[0].what)
    assert "8 more mistakes" in caught.value.what


def test_text_that_is_no_toml_names_its_line(tmp_path: Path) -> None:
    assert "line 3" in fault(tmp_path, MINIMAL.replace('"How fast?"', '"How')).what


def test_a_file_that_is_not_there_and_a_name_that_is_not_known_are_distinguished() -> None:
    with pytest.raises(SpecFault, match="no study file"):
        spec.load("nowhere/x.toml")
    with pytest.raises(SpecFault) as caught:
        spec.load("latency_vs_lode")
    assert "latency_vs_load" in caught.value.fix


def test_a_mistake_on_the_command_line_points_there(tmp_path: Path) -> None:
    path = put(tmp_path, MINIMAL)
    for text in ("services.memcached.qos.q=1.5", "services.memcached.load.connections=-1"):
        with pytest.raises(SpecFault) as caught:
            spec.load(path, overrides=[text])
        assert caught.value.at == f"--set {text}"
    for text in ("run.repeats", "=3", "services.nginx.qos.q=0.9", "name.x=1", "services.0=1"):
        with pytest.raises(SpecFault) as caught:
            spec.load(path, overrides=[text])
        assert caught.value.at == f"--set {text}"


def test_the_file_wins_over_the_profile_and_the_command_line_over_both(tmp_path: Path) -> None:
    path = put(tmp_path, MINIMAL)
    assert spec.load(path).run.repeats == 3
    assert spec.load(path).run.measure_s == PROFILES["standard"].measure_s
    quick = spec.load(path, profile="quick", overrides=["run.search.budget_s=44"])
    assert quick.run.repeats == 3
    assert quick.run.measure_s == PROFILES["quick"].measure_s
    assert quick.run.search.budget_s == 44
    assert quick.run.search.probe_s == PROFILES["quick"].search.probe_s


BY_PROFILE = """
[profiles.quick]
aa = false
run.repeats = 6
run.search.probe_s = 1.5
[profiles.full]
run.repeats = 9
"""


def test_what_a_study_sets_in_one_profile_wins_there_over_its_own_and_nowhere_else(
    tmp_path: Path,
) -> None:
    path = put(tmp_path, MINIMAL + BY_PROFILE)
    quick = spec.load(path, profile="quick")
    assert (quick.run.repeats, quick.aa, quick.run.search.probe_s) == (6, False, 1.5)
    assert quick.run.search.budget_s == PROFILES["quick"].search.budget_s
    standard = spec.load(path, profile="standard")
    assert (standard.run.repeats, standard.aa) == (3, True)
    assert spec.load(path, profile="full").run.repeats == 9
    assert spec.load(path, profile="quick", overrides=["run.repeats=2"]).run.repeats == 2
    assert spec.load(put(tmp_path, spec.to_toml(quick)), profile="quick") == quick


@pytest.mark.parametrize(
    ("table", "where", "what"),
    [
        ("[profiles.quik]\nrun.repeats = 2", ":17  profiles.quik", "no profile 'quik'"),
        ("[profiles.quick]\nseed = 2", ":18  profiles.quick.seed", "'seed' is the same in every"),
        ("[profiles.quick]\nrun.repeat = 2", ":18  profiles.quick.run.repeat", "repeat"),
        ("[profiles.quick]\nrun.repeats = 0", ":18  profiles.quick.run.repeats", "1"),
        ("[profiles]\nquick = 3", ":18  profiles.quick", "is a table"),
    ],
)
def test_a_mistake_in_what_a_profile_sets_is_named_with_its_line(
    tmp_path: Path, table: str, where: str, what: str
) -> None:
    with pytest.raises(SpecFault) as caught:
        spec.load(put(tmp_path, MINIMAL + table + "\n"), profile="quick")
    assert caught.value.at.endswith(where)
    assert what in caught.value.what + caught.value.fix


def test_full_is_the_papers_protocol() -> None:
    full = PROFILES["full"]
    assert full.measure_s == 120  # C6
    assert full.fractions == tuple(n / 10 for n in range(1, 11))  # C7
    assert full.repeats >= 5  # M15
    assert full.search.confirm_s >= 120  # M18
    assert full.search.resolution <= 0.02  # M18


@pytest.mark.parametrize("name", spec.names())
@pytest.mark.parametrize("profile", PROFILES)
def test_every_study_loads_and_survives_being_written(
    name: str, profile: str, tmp_path: Path
) -> None:
    study = spec.load(name, profile=profile)
    assert study.name == name
    again = spec.load(put(tmp_path, spec.to_toml(study)))
    assert again == study.model_copy(update={"papers": ()})  # a record does without


@pytest.mark.parametrize("name", spec.names())
def test_every_study_opens_with_what_it_asks_expects_takes_and_needs(name: str) -> None:
    text = spec.find(name).read_text(encoding="utf-8")
    opening = text[: text.index("\nname =")]
    assert all(line.startswith("#") for line in opening.splitlines())
    for word in ("?", "expect", "takes", "needs"):
        assert word in opening, f"{name} does not say: {word}"


@given(
    repeats=st.integers(1, 1000),
    measure=st.floats(0.01, 3600),
    fractions=st.lists(st.floats(0.01, 2), min_size=1, max_size=20, unique=True),
    q=st.floats(0.01, 0.999),
    bound_us=st.integers(1, 10**9),
    seed=st.integers(1, 2**53),
)
def test_any_valid_study_survives_being_written(
    tmp_path_factory: pytest.TempPathFactory,
    *,
    repeats: int,
    measure: float,
    fractions: list[float],
    q: float,
    bound_us: int,
    seed: int,
) -> None:
    path = put(tmp_path_factory.mktemp("study"), MINIMAL)
    sets = {
        "seed": seed,
        "run.repeats": repeats,
        "run.measure_s": measure,
        "run.fractions": fractions,
        "services.memcached.qos.q": q,
        "services.memcached.qos.bound": f'"{bound_us}us"',
    }
    study = spec.load(path, overrides=[f"{key}={value}" for key, value in sets.items()])
    assert study.run.fractions == tuple(sorted(fractions))
    assert spec.load(put(path.parent, spec.to_toml(study))) == study


@given(st.text(max_size=300))
def test_no_text_gives_anything_but_a_study_or_a_fault(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = put(tmp_path_factory.mktemp("study"), text)
    with contextlib.suppress(SpecFault):
        assert isinstance(spec.load(path), Study)


def test_a_study_is_frozen(tmp_path: Path) -> None:
    study = spec.load(put(tmp_path, MINIMAL))
    with pytest.raises(Exception, match="frozen"):
        study.seed = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        study.services[0].load["connections"] = 1  # type: ignore[index]


def test_reserved_keys_are_keys_of_the_job() -> None:
    assert set(schema("load-job")["properties"]) >= set(RESERVED)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("services.mm1.params.service='fixed:100us'", "exponential"),
        ("services.mm1.params.service='exponential:1ms'", "service_time is 100us"),
        ("services.mm2.params.servers=3", "servers is 2"),
        ("services.mm1.check.servers=2", "M/M/n"),
        ("services.null.check.rates=[]", "needs rates"),
        ("services.mm1.check.rho=[0.5, 1.0]", "rho"),
    ],
)
def test_a_check_against_another_queue_than_is_served_is_refused(text: str, what: str) -> None:
    with pytest.raises(SpecFault, match=what):
        spec.load("selfcheck", overrides=[text])


@pytest.mark.parametrize("end", ["", ".toml"])
def test_a_name_that_is_too_long_for_a_file_is_no_study(end: str) -> None:
    with pytest.raises(SpecFault, match="there is no study"):
        spec.find("x" * 300 + end)
