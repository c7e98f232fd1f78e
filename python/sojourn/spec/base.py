"""What every table of a study is made of."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

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


class Model(BaseModel):
    """Frozen; unknown keys and silent conversions (`"2"` for 2) are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )
