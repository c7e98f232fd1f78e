"""Keys of a study as people write them: `services.memcached.params.threads`, services by label.

`services.each.cores` is that key of every service.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from sojourn.spec.levels import Level

EACH = "each"  # in the place of a label: every service


class NoSuchKey(ValueError):  # noqa: N818  # it says what, and how to fix it
    """A key leads nowhere; `fix` says where it might have been meant to."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}; {fix}")
        self.what, self.fix = what, fix


def service_of(key: str) -> str | None:
    """Label of the service that a key is of; None for a key of the whole study, or of each service.

    >>> [service_of(f"services.{label}.cores") for label in ("memcached", "each")]
    ['memcached', None]
    >>> service_of("run.measure_s") is None
    True
    """
    head, _, rest = key.partition(".")
    label = rest.partition(".")[0] if head == "services" else EACH
    return None if label == EACH else label


def paths_of(table: Mapping[str, Any], key: str) -> tuple[tuple[str | int, ...], ...]:
    """Where a key is in a study's table, once for each service that it is of.

    Raises:
        NoSuchKey: there is no such service, or a part on the way is no table.
    """
    start = f"services.{EACH}."
    if not key.startswith(start):
        return (path_of(table, key),)
    labels = [str(service["label"]) for service in table["services"]]
    return tuple(path_of(table, f"services.{label}.{key.removeprefix(start)}") for label in labels)


def path_of(table: Mapping[str, Any], key: str) -> tuple[str | int, ...]:
    """Where a key is in a study's table: `("services", 0, "params", "threads")`.

    Raises:
        NoSuchKey: there is no such service, or a part on the way is no table.
    """
    parts = key.split(".")
    path: list[str | int] = []
    node: Any = table
    while parts:
        part: str | int = parts.pop(0)
        if isinstance(node, list | tuple):
            part = _index(node, str(part))
            node = node[part]
        elif isinstance(node, Mapping) or node is None:
            node = (node or {}).get(part)
        else:
            name = ".".join(str(p) for p in path)
            raise NoSuchKey(f"{name} is a value, not a table", f"vary {name} itself")
        path.append(part)
    if isinstance(path[-1], int) or path == ["services"]:
        raise NoSuchKey(f"'{key}' names a whole table", f"name a key in it: {key}.KEY")
    return tuple(path)


def put(table: dict[str, Any], key: str, level: Level) -> None:
    """Set a key of a study's table, whatever stood there; NoSuchKey as of `path_of`."""
    for *parents, last in paths_of(table, key):
        node: Any = table
        for part in parents:
            if isinstance(part, str) and node.get(part) is None:
                node[part] = {}
            node = node[part]
        node[last] = level


def _index(services: list[Any] | tuple[Any, ...], label: str) -> int:
    labels = [str(service["label"]) for service in services]
    if label in labels:
        return labels.index(label)
    meant = difflib.get_close_matches(label, labels, n=3, cutoff=0.5)
    fix = f"did you mean {' or '.join(meant)}?" if meant else f"use one of: {', '.join(labels)}"
    raise NoSuchKey(f"the study has no service '{label}'", fix)
