"""Texts below fields describe them; models are built when they are used."""

from __future__ import annotations

from pydantic import Field, create_model

from sojourn.spec import described
from sojourn.spec.base import Model


class Boat(Model):
    """A boat."""

    length_m: int = 3
    """From end to end."""
    crew: int = Field(default=1, alias="men")
    """Who rows."""
    name: str = ""


class Ferry(Boat):
    """A boat that takes others."""

    length_m: int = 30
    """With its ramp."""


class Pond(Model):
    """Where one boat is."""

    boat: Boat
    """The one."""


def test_the_nearest_text_below_a_field_describes_it() -> None:
    assert described.texts(Boat) == {"length_m": "From end to end.", "crew": "Who rows."}
    assert described.texts(Ferry) == {"length_m": "With its ramp.", "crew": "Who rows."}


def test_a_model_made_of_others_has_their_texts() -> None:
    made = create_model("Boat", __base__=Ferry, __module__=__name__)
    assert described.texts(made) == described.texts(Ferry)


def test_a_schema_has_the_texts_by_the_names_of_the_file() -> None:
    parts = Pond.model_json_schema(by_alias=True)
    assert parts["properties"]["boat"]["description"] == "The one."
    boat = parts["$defs"]["Boat"]["properties"]
    assert {key: part.get("description") for key, part in boat.items()} == {
        "length_m": "From end to end.",
        "men": "Who rows.",
        "name": None,
    }
    assert list(boat["length_m"]) == ["default", "description", "title", "type"]


def test_a_model_is_built_when_it_first_reads_a_table() -> None:
    class Raft(Model):
        logs: int

    assert not Raft.__pydantic_complete__
    assert Raft.model_validate({"logs": 4}).logs == 4
    assert Raft.__pydantic_complete__
