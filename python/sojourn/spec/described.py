"""What is written below the fields of a model: their descriptions in a schema."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise
from textwrap import dedent

from pydantic import BaseModel


def texts(model: type[BaseModel]) -> dict[str, str]:
    """Name of a field → the text below it, where the model or the nearest of its bases has one."""
    results: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        if kind is not BaseModel and issubclass(kind, BaseModel) and _has_source(kind):
            results |= _own(kind)
    return results


def _has_source(kind: type) -> bool:
    """Whether a class is written where it says; one that was made of others is not."""
    return getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind


@cache
def _own(kind: type) -> dict[str, str]:
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):  # of a library in C, or of an interpreter's prompt
        return {}
    (whole,) = ast.parse(dedent(source)).body
    body = whole.body if isinstance(whole, ast.ClassDef) else []
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
