"""Which study a word means, and what is said where it means none."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import spec
from sojourn.errors import SpecFault
from sojourn.spec.studies import find, names


def fix_of(word: str) -> str:
    with pytest.raises(SpecFault, match="study") as caught:
        find(word)
    return caught.value.fix


def test_a_word_that_is_like_no_study_is_not_answered_with_all_of_them() -> None:
    fix = fix_of("zzzz")
    assert "sojourn ls" in fix
    assert "did you mean" not in fix
    assert not any(name in fix for name in names())


def test_a_word_that_is_like_a_study_names_it() -> None:
    assert "did you mean latency_vs_load?" in fix_of("latency_vs_laod")


def test_a_study_of_ones_own_without_its_ending_is_named_by_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.toml").write_text("")
    assert "did you mean ./shop.toml?" in fix_of("shop")
    assert find("./shop.toml").samefile(tmp_path / "shop.toml")


def test_a_file_of_another_kind_is_not_taken_for_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text("")
    with pytest.raises(SpecFault, match=r"does not end in \.toml"):
        find("shop.py")


def test_a_kind_that_is_like_none_is_answered_with_all_as_a_list(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('name = "m"\nquestion = "q?"\n[[services]]\nkind = "zzzz"\n')
    with pytest.raises(SpecFault, match="there is no kind of service 'zzzz'") as caught:
        spec.load(mine)
    assert "known: null, memcached, " in caught.value.fix
    assert "did you mean" not in caught.value.fix


def test_a_factor_that_is_like_none_is_answered_with_those_that_there_are() -> None:
    qos = 'services.memcached.qos={ q = 0.95, rule = "lqos", under = { "zzzz" = 1 } }'
    with pytest.raises(SpecFault, match="there is no factor 'zzzz'") as caught:
        spec.load("latency_vs_load", varied=("trace=true,false",), overrides=(qos,))
    assert caught.value.fix == "known: trace"
