"""`[together]`: services that are measured at once, and the loads of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

Share = Annotated[float, Field(gt=0, le=2)]  # of max RPS


def _listed(value: object) -> object:
    """A TOML array as the tuple that strict models want."""
    return tuple(value) if isinstance(value, list) else value


Together = Annotated[
    Mapping[str, Annotated[tuple[Share, ...], BeforeValidator(_listed)]],
    AfterValidator(lambda table: MappingProxyType(dict(table))),
    PlainSerializer(dict),
]


def refuse(together: Mapping[str, Sequence[float]], labels: Sequence[str]) -> None:
    """ValueError if these services of a study cannot be measured at once."""
    for label, loads in together.items():
        if label not in labels:
            raise ValueError(f"together names '{label}'; the services are {', '.join(labels)}")
        if not loads or len(set(loads)) < len(loads):
            raise ValueError(f"together.{label} is empty or holds a load twice")
    if len(together) == 1:
        raise ValueError("together names one service; a second one is to run beside it")
