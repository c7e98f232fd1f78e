"""`--set KEY=VALUE`: a value of the command line comes into a study's table."""

from __future__ import annotations

import tomllib
from typing import Any

from sojourn.errors import SpecFault
from sojourn.text.near import near


def apply_override(table: dict[str, Any], override: str) -> tuple[str | int, ...]:
    """Put one `key=value` into the table; the value is TOML, or plain text if it is not."""
    dotted, equals, value = override.partition("=")
    at = f"--set {override}"
    if not equals or not dotted.strip():
        raise SpecFault(f"'{override}' is not key=value", at=at, fix="write --set run.repeats=2")
    *parents, last = dotted.strip().split(".")
    node: Any = table
    path: list[str | int] = []
    for name in parents:
        if isinstance(node, list):
            path.append(index := _index(node, name, at))
            node = node[index]
        else:
            path.append(name)
            node = node.setdefault(name, {})
        if not isinstance(node, dict | list):
            raise SpecFault(
                f"'{name}' is a value, not a table", at=at, fix=f"set {name} itself, or fix the key"
            )
    if isinstance(node, list):
        raise SpecFault(
            f"'{dotted}' names a whole entry", at=at, fix=f"name a key in it: {dotted}.KEY=VALUE"
        )
    node[last] = _value(value)
    return (*path, last)


def _index(entries: list[Any], name: str, at: str) -> int:
    """Position of the service called `name`, by label, kind or number."""
    called = [str(entry.get("label") or entry.get("kind")) for entry in entries]
    if name in called:
        return called.index(name)
    if name.isdecimal() and int(name) < len(entries):
        return int(name)
    meant = near(name, called) or called
    raise SpecFault(
        f"the study has no service '{name}'", at=at, fix=f"use one of: {', '.join(meant)}"
    )


def _value(text: str) -> Any:
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # no TOML, or a number of more digits than Python reads
        return text.strip()
    return table["value"] if len(table) == 1 else text.strip()  # further lines are no keys
