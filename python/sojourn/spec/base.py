"""What every table of a study is made of."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


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
    """Frozen; unknown keys and silent conversions (`"2"` for 2) are refused.

    Most models are parts of others, so each is built when it first reads a table. What is written
    below a field is its description. It is read from the source for a schema alone, because a
    command that reads a study has no use for it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema, with the description of each field."""
        from sojourn.spec.described import texts  # noqa: PLC0415 - see above

        table = handler(core_schema)
        parts, known = handler.resolve_ref_schema(table).get("properties", {}), texts(cls)
        for name, field in cls.model_fields.items():
            key = field.alias or name
            if key in parts and name in known:
                title = {"title": t} if (t := parts[key].pop("title", None)) else {}
                parts[key] |= {"description": known[name], **title}
        return table
