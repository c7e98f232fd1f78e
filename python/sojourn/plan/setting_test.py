"""A setting is a map, is frozen, and its text says all of it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.plan.setting import Level, Setting, level_of, level_text

LEVELS = st.one_of(
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.sampled_from(["true", "2", "0.5", "1e3", "nan", "inf", "null", "a,b=c", '"']),
)
MAPS = st.dictionaries(st.from_regex(r"[a-z][a-z0-9_.-]{0,5}", fullmatch=True), LEVELS, max_size=4)


@settings(deadline=None)
@given(LEVELS)
def test_a_level_is_read_from_its_text_as_it_was(level: Level) -> None:
    back = level_of(level_text(level))
    assert back == level
    assert isinstance(back, bool | str) == isinstance(level, bool | str)


@settings(deadline=None)
@given(MAPS, MAPS)
def test_texts_are_equal_for_equal_settings_only(
    one: dict[str, Level], two: dict[str, Level]
) -> None:
    def typed(levels: dict[str, Level]) -> dict[str, tuple[bool, Level]]:
        return {name: (isinstance(level, bool), level) for name, level in levels.items()}

    first, second = Setting.of(one), Setting.of(two)
    assert (first.text == second.text) == (typed(one) == typed(two)) == (first == second)
    if first == second:
        assert hash(first) == hash(second)
    assert dict(first) == one
    assert Setting(tuple(reversed(list(one.items())))) == first


@pytest.mark.parametrize("level", [2**53, 2**53 + 1, 10**22])
def test_a_large_whole_number_is_the_same_as_int_and_as_float(level: int) -> None:
    whole = float(level)
    assert (Setting.of(a=level) == Setting.of(a=whole)) == (level == whole)
    assert level_of(level_text(whole)) == whole


def test_a_text_is_for_people_too() -> None:
    setting = Setting.of({"services.memcached.params.threads": 2, "load": 0.904}, policy="cfs")
    assert setting.text == "load=0.904,policy=cfs,services.memcached.params.threads=2"
    assert Setting().text == ""
    assert len(setting) == 3
    assert setting["load"] == 0.904
    with pytest.raises(KeyError):
        setting["size"]


@pytest.mark.parametrize("level", [math.nan, math.inf, None, (1, 2), 1j])
def test_what_is_no_scalar_is_no_level(level: object) -> None:
    with pytest.raises(ValueError, match="a level is"):
        Setting.of({"load": level})  # type: ignore[dict-item]


def test_a_factor_has_one_level_and_a_name() -> None:
    with pytest.raises(ValueError, match="comes twice"):
        Setting((("a", 1), ("a", 2)))
    for name in ("", "a,b", "a=b", "a/b", "1", 'a"'):
        with pytest.raises(ValueError, match="is not a name of a factor"):
            Setting.of({name: 1})
