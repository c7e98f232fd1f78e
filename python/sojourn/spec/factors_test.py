"""Factors: what is varied is built and refused in time, and written as it was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import spec
from sojourn.errors import SpecFault
from sojourn.spec import Study

THREADS = "services.memcached.params.threads"
CONNECTIONS = "services.memcached.load.connections"
TOML = """\
name = "mine"
question = "How fast?"

[[services]]
kind = "memcached"
measure = ["sweep"]

[factors]
"services.memcached.params.threads" = [1, 2]
services.memcached.load.connections = [16, 64]
trace = [false, true]
"""


def load(*varied: str, sets: tuple[str, ...] = (), name: str = "latency_vs_load") -> Study:
    return spec.load(name, varied=varied, overrides=sets)


def put(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_combination_is_a_study_with_its_keys_set() -> None:
    study = load(f"{THREADS}=1,2", "run.measure_s=2,3.5")
    cells = study.combinations("memcached")
    assert [tuple(cell.values()) for cell in cells] == [(1, 2), (1, 3.5), (2, 2), (2, 3.5)]
    for cell in cells:
        under = study.under(cell)
        assert under.service("memcached").params["threads"] == cell[THREADS]
        assert under.run.measure_s == cell["run.measure_s"]
        assert not under.factors
        plain = load(sets=tuple(f"{key}={level}" for key, level in cell.items()))
        assert under == plain


def test_a_key_of_each_service_is_one_factor_that_all_feel() -> None:
    study = load('services.each.cores="1","2"')
    for label in ("memcached", "nginx"):
        cells = study.combinations(label)
        assert [dict(cell) for cell in cells] == [
            {"services.each.cores": "1"},
            {"services.each.cores": "2"},
        ]
        assert [study.under(cell).service(label).cores for cell in cells] == ["1", "2"]
    with pytest.raises(SpecFault, match="cannot be varied"):
        load("services.each.label=a,b")
    with pytest.raises(SpecFault, match="no parameter"):
        load("services.each.params.threads=1,2")  # nginx has workers
    with pytest.raises(SpecFault, match="every service in keys of factors"):
        load(sets=("services.memcached.label=each",))


@pytest.mark.parametrize(
    ("under", "text"),
    [
        ('{ "services.each.core" = "1" }', "there is no factor"),
        ('{ "services.each.cores" = "3" }', "cores has no level"),
    ],
)
def test_a_bound_is_measured_under_levels_that_there_are(under: str, text: str) -> None:
    qos = f'services.memcached.qos={{ q = 0.95, rule = "lqos", under = {under} }}'
    with pytest.raises(SpecFault, match=text):
        load('services.each.cores="1","2"', sets=(qos,))


def test_a_bound_of_a_combination_that_is_left_out_is_refused() -> None:
    cores, trace = "services.memcached.cores", "trace"
    qos = f'services.memcached.qos={{ q = 0.95, rule = "lqos", under = {{ "{cores}" = "1" }} }}'
    skip = f'design.skip=[{{ levels = {{ "{cores}" = "1", {trace} = true }}, reason = "x" }}]'
    varied = (f'{cores}="1","2"', f"{trace}=true,false")
    assert load(*varied, sets=(qos,)).factors
    with pytest.raises(SpecFault, match="is to be measured in a combination that is left out"):
        load(*varied, sets=(qos, skip))


def test_a_service_time_is_that_of_one_thread() -> None:
    of = 'services.memcached.qos={ q = 0.95, rule = "service_time" }'
    with pytest.raises(SpecFault, match="the time of one thread"):
        load(sets=(of,))
    assert load(sets=(of, "services.memcached.cores=1")).service("memcached").qos is not None
    for under in ('"services.each.cores" = "2"', "trace = false"):
        more = of.replace(" }", f", under = {{ {under} }} }}")
        with pytest.raises(SpecFault, match="the time of one thread"):
            load('services.each.cores="1","2"', "trace=true,false", sets=(more,))
    with pytest.raises(SpecFault, match="under is of a bound that is measured"):
        load(sets=('services.memcached.qos={ q = 0.95, bound = "1ms", under = { trace = true } }',))


def test_a_service_feels_its_own_factors_and_those_of_all() -> None:
    study = load(f"{THREADS}=1,2", "run.measure_s=2,3")
    assert [dict(cell) for cell in study.combinations("nginx")] == [
        {"run.measure_s": 2},
        {"run.measure_s": 3},
    ]
    assert load().combinations("nginx") == ({},)
    assert load().under({}) == load()


def test_factors_of_a_file_are_read_quoted_or_not_and_survive_being_written(tmp_path: Path) -> None:
    study = spec.load(put(tmp_path, TOML))
    assert dict(study.factors) == {THREADS: (1, 2), CONNECTIONS: (16, 64), "trace": (False, True)}
    again = spec.load(put(tmp_path, spec.to_toml(study)))
    assert again == study
    assert list(again.factors) == list(study.factors)
    assert "factors" not in spec.to_toml(load())
    assert "design" not in spec.to_toml(load())
    assert "properties" not in spec.to_toml(load())  # records of before are resumed by their text
    assert "papers" not in spec.to_toml(spec.load("key_size"))
    assert dict(spec.load(put(tmp_path, TOML), varied=["trace=true,false"]).factors) == {
        **study.factors,
        "trace": (True, False),
    }


def test_load_is_varied_by_every_sweep() -> None:
    assert load("load=0.7,0.3").run.fractions == (0.3, 0.7)
    assert not load("load=0.7,0.3").factors


@pytest.mark.parametrize(
    ("varied", "what", "fix"),
    [
        (f"{THREADS}=1,x", "not a whole number", "whole number"),
        (f"{THREADS}=1,100000", "outside", "give a value in"),
        (f"{THREADS}=1", "two levels", "not a factor"),
        (f"{THREADS}=1,1.0", "comes twice", "run.repeats"),
        (f"{THREADS}=", "a level is empty", "commas"),
        (f'{THREADS}=1,"2', "quote is left open", "commas"),
        ("services.memcached.params.thread=1,2", "no parameter 'thread'", "threads"),
        ("services.memcache.params.threads=1,2", "no service 'memcache'", "mean memcached"),
        ("services.memcached=1,2", "whole table", "services.memcached.KEY"),
        ("services.memcached.load.rate=1,2", "the plan sets", "run.fractions"),
        ("services.memcached.label=a,b", "cannot be varied", "names the service"),
        ("services.memcached.kind=memcached,memcache", "no kind", "memcached"),
        ("run.measur_s=1,2", "no key 'measur_s'", "mean measure_s"),
        ("run.measure_s=1,-2", "above 0", "above 0"),
        ("run.measure_s.x=1,2", "run.measure_s is a value", "vary run.measure_s"),
        ("run.repeats=1,2", "cannot be varied", "--set"),
        ("run.profile=quick,full", "cannot be varied", "run.measure_s"),
        ("run.fractions=0.1,0.2", "cannot be varied", "load"),
        ("seed=1,2", "cannot be varied", "run.repeats"),
        ("run.rates=1,2", "cannot be varied", "rate"),
        ("run.check_s=10,20", "changes nothing here", "check"),
        ("a b=1,2", "not a key of a study", "services.LABEL"),
        ("threads", "not KEY=LEVEL", "--vary"),
    ],
)
def test_what_cannot_be_varied_is_refused_where_it_is_reported(
    varied: str, what: str, fix: str
) -> None:
    with pytest.raises(SpecFault) as caught:
        load(varied)
    assert what in caught.value.what, caught.value.what
    assert fix in caught.value.fix, caught.value.fix
    assert caught.value.at == f"--vary {varied}"


def test_a_factor_is_given_once() -> None:
    for varied, sets in (
        ((f"{THREADS}=1,2", f"{THREADS}=2,3"), ()),
        ((f"{THREADS}=1,2",), (f"{THREADS}=4",)),
    ):
        with pytest.raises(SpecFault, match="given twice"):
            load(*varied, sets=sets)


def test_what_the_file_varies_cannot_be_set() -> None:
    key = "services.memcached.knobs.policy"
    with pytest.raises(SpecFault, match="so setting it changes nothing") as caught:
        load(name="square_wave", sets=(f"{key}=fifo:1",))
    assert (caught.value.at, key in caught.value.fix) == (f"--set {key}=fifo:1", True)
    assert load(f"{key}=other,fifo:1", name="square_wave").factors[key] == ("other", "fifo:1")


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ('memcached.params.threads" = [1', 'memcached.params.thread" = [1', 9, "no parameter"),
        ('memcached.params.threads" = [1, 2', 'memcached.params.threads" = [1, 1', 9, "twice"),
        ("load.connections = [16", "load.conections = [16", 10, "no key 'conections'"),
        ("trace = [false, true]", "trace = 1", 11, "not a list"),
        ("trace = [false, true]", "load = [0.1, 0.2]\n[run]\nfractions=[0.5]", 11, "loads stand"),
        ("trace", '"services.memcached.load.connections"', 8, "comes twice"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, what: str
) -> None:
    assert old in TOML
    with pytest.raises(SpecFault) as caught:
        spec.load(put(tmp_path, TOML.replace(old, new)))
    assert f"mine.toml:{line}  factors" in caught.value.at, caught.value.at
    assert what in caught.value.what, caught.value.what


def test_levels_that_are_right_alone_and_wrong_together_are_refused_together() -> None:
    mm2 = ("services.mm2.params.servers=2,4", "services.mm2.check.servers=2,4")
    together = (
        f'{{"services.mm2.params.servers"={n},"services.mm2.check.servers"={n}}}' for n in (2, 4)
    )
    listed = (
        'design.kind="listed"',
        f"design.combinations=[{', '.join(together)}]",
    )
    with pytest.raises(SpecFault, match=r"under params\.servers = 2, check\.servers = 4") as caught:
        load(*mm2, name="selfcheck")
    assert len(caught.value.each) in {0, 2}
    assert len(load(*mm2, name="selfcheck", sets=listed).combinations("mm2")) == 2


@pytest.mark.parametrize(
    ("sets", "what"),
    [
        (('design.kind="listed"',), "lists no combination"),
        (('design.kind="fractional"',), "p or generators"),
        (("design.p=1",), "this one is full"),
        (("design.combinations=[{trace=true}]",), "this design is full"),
        (('design.kind="fractional"', "design.p=1"), "too few combinations"),
        (
            ('design.kind="fractional"', 'design.generators=["D=ABC"]'),
            "not a generator of 2 factors",
        ),
        (('design.kind="listed"', "design.combinations=[{trace=true}]"), "no level of"),
        (('design.skip=[{levels={trac=true},reason="x"}]',), "no factor 'trac'"),
        (('design.skip=[{levels={trace=3},reason="x"}]',), "no level 3"),
        (('design.skip=[{levels={},reason="x"}]',), "every combination is skipped"),
        (('design.kind="half"',), "design.kind"),
        (
            ('design.kind="fractional"', 'design.skip=[{levels={trace=true},reason="x"}]'),
            "cannot spare a combination",
        ),
    ],
)
def test_a_design_that_cannot_be_is_refused(sets: tuple[str, ...], what: str) -> None:
    with pytest.raises(SpecFault) as caught:
        load(f"{THREADS}=1,2", "trace=true,false", sets=sets)
    whats = [fault.what for fault in caught.value.each or (caught.value,)]
    assert any(what in one for one in whats), whats
    assert caught.value.fix


def test_a_design_without_factors_is_refused_and_so_is_one_too_large() -> None:
    with pytest.raises(SpecFault, match="nothing is varied"):
        load(sets=('design.kind="full"',))
    many = ",".join(map(str, range(1, 60)))
    with pytest.raises(SpecFault, match="3481 combinations"):
        load(f"{CONNECTIONS}={many}", f"run.measure_s={many}")


def test_skipped_combinations_are_left_out_with_their_reason() -> None:
    skip = f'design.skip=[{{levels={{"{THREADS}"=2,trace=true}},reason="no CPU is left for it"}}]'
    study = load(f"{THREADS}=1,2", "trace=true,false", sets=(skip,))
    assert [tuple(c.values()) for c in study.combinations("memcached")] == [
        (1, True),
        (1, False),
        (2, False),
    ]
    assert study.design.left_out(study.factors) == (
        ({THREADS: 2, "trace": True}, "no CPU is left for it"),
    )


def test_a_copy_of_a_study_has_combinations_of_its_own() -> None:
    study = load(f"{THREADS}=1,2")
    one = study.under({THREADS: 1})
    alone = study.model_copy(update={"services": study.services[:1]})
    assert len(alone.under({THREADS: 1}).services) == 1
    assert len(one.services) == 2


def test_what_a_file_skips_of_levels_that_are_not_chosen_is_no_matter() -> None:
    """The file's own skips; one that the command line gives has to name a level there is."""
    policy = "services.memcached.knobs.policy"
    for levels, left in (("other,fifo:1", 0), ("other,slice:3ms", 1)):
        study = spec.load("square_wave", profile="quick", varied=[f"{policy}={levels}"])
        assert len(study.design.skip) == left
        assert len(study.combinations("memcached")) == 4 - 2 * left
    no_one = spec.load("interference", profile="quick", varied=["neighbour=none,spin"])
    assert no_one.design.skip == ()
    skip = f'design.skip=[{{levels={{"{policy}"="rr:1"}},reason="x"}}]'
    with pytest.raises(SpecFault, match="no level rr:1"):
        spec.load("square_wave", varied=[f"{policy}=other,fifo:1"], overrides=[skip])
