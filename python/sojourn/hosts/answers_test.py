"""Whatever an agent answers, it is of its form, or its host is lost."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn.hosts import answers
from sojourn.hosts.about import about
from sojourn.hosts.engine import LostError

FAULT = {"kind": "run", "what": "w", "at": "a", "fix": "f"}
NONSENSE: list[Any] = [
    7,
    "x",
    b"x",
    [],
    [[]],
    {},
    {"say": 7},
    1e400,
    float("nan"),
    {7: 7},
    object(),
]


@pytest.mark.parametrize("answer", [*NONSENSE, None])
@pytest.mark.parametrize("name", ["facts", "line"])
def test_nonsense_is_a_lost_host(name: str, answer: Any) -> None:
    with pytest.raises(LostError, match="makes no sense"):
        getattr(answers, name)(answer)


@pytest.mark.parametrize("answer", NONSENSE)
def test_a_fault_without_its_parts_is_none(answer: Any) -> None:
    with pytest.raises(LostError):
        answers.fault(answer)
    assert answers.fault(None) is None
    assert answers.fault(FAULT | {"more": 1}) == FAULT


def test_facts_are_those_of_an_agent_and_each_of_its_kind() -> None:
    own = about()
    assert answers.facts(own) == own
    for key, value in (("cpus", "0-3"), ("cpus", ["x"]), ("features", None), ("features", "btf")):
        with pytest.raises(LostError):
            answers.facts({**own, key: value})


def test_a_file_is_bytes_and_not_larger_than_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number would be taken for a length: `bytes(10**12)` is a terabyte of zeros."""
    assert answers.content(b"x") == b"x"
    monkeypatch.setattr(answers, "FILE_BYTES", 2)
    for answer in (10**12, [1], "text", None, b"xxx"):
        with pytest.raises(LostError):
            answers.content(answer)


@pytest.mark.parametrize(
    "answer",
    [
        *NONSENSE[:3],
        {"a": b""},
        [{"a": 5}],
        [{"../a": b""}],
        [{"a/b": b""}],
        [{"": b""}],
        [{"a\0": b""}],
        [{"\udcff": b""}],
        [{"a" * 256: b""}],
        [{"a": b"xxx", "b": b"xxx"}],
        [{"a": b"", "b": b"", "c": b"", "d": b""}],
    ],
)
def test_files_have_plain_names_and_bounds(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "FILE_BYTES", 5)
    monkeypatch.setattr(answers, "FILES_MAX", 3)
    with pytest.raises(LostError):
        answers.files(answer)
    assert answers.files([{"service.log": b"x"}, {}]) == [{"service.log": b"x"}, {}]


@pytest.mark.parametrize(
    "answer",
    [
        {"say": "done"},
        {"say": "done", "fault": {}},
        {"say": "fault", "fault": None},
        {"say": "event", "step": "s", "text": 7, "service": ""},
    ],
)
def test_a_line_without_what_belongs_to_it_is_none(answer: Any) -> None:
    with pytest.raises(LostError):
        answers.line(answer)


def test_lines_of_a_stage_stay_as_they_are() -> None:
    lines: tuple[dict[str, Any], ...] = (
        {"say": "done", "fault": None, "seen": {}},
        {"say": "fault", "fault": FAULT},
        {"say": "event", "step": "s", "text": "t", "service": ""},
        {"say": "ended", "code": 0},
    )
    for one in lines:
        assert answers.line(one) == one
