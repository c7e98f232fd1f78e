"""What every table of a study is made of."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer


def _with_tuples(table: object) -> object:
    """A TOML table whose arrays are the tuples that strict models want."""
    if not isinstance(table, Mapping):
        return table
    return {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}


Scalar = bool | int | float | str
Table = Annotated[
    Mapping[str, Scalar | tuple[Scalar, ...]],
    BeforeValidator(_with_tuples),
    AfterValidator(lambda table: MappingProxyType(dict(table))),
    PlainSerializer(dict),
]


def _frozen(table: Mapping[str, Any]) -> Mapping[str, Any]:
    within = {k: _frozen(v) if isinstance(v, Mapping) else v for k, v in table.items()}
    return MappingProxyType(within)


def _thawed(table: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _thawed(v) if isinstance(v, Mapping) else v for k, v in table.items()}


#: The same, where a value may be a table: the `option` of the generator's job.
TableOfTables = Annotated[
    Mapping[str, Scalar | tuple[Scalar, ...] | Mapping[str, Scalar]],
    BeforeValidator(_with_tuples),
    AfterValidator(_frozen),
    PlainSerializer(_thawed),
]


class Model(BaseModel):
    """Frozen; unknown keys and silent conversions (`"2"` for 2) are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )
