"""What every table of a study is made of."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainSerializer

Scalar = bool | int | float | str
Table = Annotated[
    Mapping[str, Scalar | tuple[Scalar, ...]],
    AfterValidator(lambda table: MappingProxyType(dict(table))),
    PlainSerializer(dict),
]


class Model(BaseModel):
    """Frozen; unknown keys and silent conversions (`"2"` for 2) are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )
