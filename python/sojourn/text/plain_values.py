"""Values as JSON has them; infinite times are the text "inf"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any


def plain(value: Any) -> Any:
    """The same value of what JSON knows: dataclasses and mappings become objects, sets lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value if isinstance(value, str | int | float | bool | None) else str(value)
