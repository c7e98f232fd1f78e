"""The form of a study file: what questions add, and what is left without."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from sojourn import handed
from sojourn.spec import PROFILES, RunSpec, ServiceSpec, Study, form
from sojourn.spec.base import Model
from sojourn.spec.form import Asks, made


class Depth(Model):
    """A table of a question that does not exist."""

    metres: int = 3


class OfService(ServiceSpec):
    """What a service may have of it."""

    depth: Depth | None = None
    """How deep."""


class OfRun(RunSpec):
    """What `run` has of it."""

    dives: int = 10
    """How often."""


class OfStudy(Study):
    """What a study may have of it."""

    seas: tuple[str, ...] = ()
    """Which."""


ASKS = Asks(
    study=OfStudy,
    service=OfService,
    run=OfRun,
    profiles={"quick": {"dives": 2}},
    in_shares=True,
    neighbours=("depth", "fish"),
)
TABLE = {
    "name": "s",
    "question": "?",
    "run": PROFILES["quick"].model_dump(),
    "services": [{"kind": "null", "depth": {"metres": 5}}],
    "seas": ("red",),
}


def test_keys_of_questions_stand_in_one_model_with_the_core_s() -> None:
    result = made({"dive": ASKS})
    study = result.study.model_validate(TABLE)
    assert isinstance(study, OfStudy)
    assert isinstance(study.services[0], OfService)
    assert isinstance(study.run, OfRun)
    assert study.services[0].depth == Depth(metres=5)
    assert (study.seas, study.run.dives) == (("red",), 10)
    assert result.profiles["quick"].model_dump()["dives"] == 2
    assert result.profiles["full"].model_dump()["dives"] == 10
    assert result.study.in_shares == {"dive"}
    assert result.neighbours == (("depth", "fish"),)
    assert "How deep." in json.dumps(result.study.model_json_schema())


def test_without_a_question_its_keys_are_refused() -> None:
    with pytest.raises(ValidationError) as caught:
        made({}).study.model_validate(TABLE)
    places = {error["loc"] for error in caught.value.errors()}
    assert places == {("services", 0, "depth"), ("seas",)}


def test_a_combination_of_levels_keeps_the_form() -> None:
    key = "services.null.depth.metres"
    study = made({"dive": ASKS}).study.model_validate({**TABLE, "factors": {key: (1, 2)}})
    under = study.under({key: 2})
    assert isinstance(under.services[0], OfService)
    assert under.services[0].depth == Depth(metres=2)


def test_what_is_handed_in_must_be_a_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(handed._SOURCES, handed.STUDY_FORM, lambda: "no form")
    with pytest.raises(TypeError, match="no form of a study"):
        form.current()
    monkeypatch.delitem(handed._SOURCES, handed.STUDY_FORM)
    assert form.current().asks == {}
