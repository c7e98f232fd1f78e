"""Lines of OpenMetrics 1.0, which Prometheus reads."""

from __future__ import annotations

from collections.abc import Mapping


def head(name: str, kind: str, about: str, unit: str = "") -> list[str]:
    """What is before the values of a family of metrics."""
    units = [f"# UNIT {name} {unit}"] if unit else []
    return [f"# TYPE {name} {kind}", *units, f"# HELP {name} {about}"]


def labels(values: Mapping[str, str]) -> str:
    r"""Labels with their values, in which the format has three escapes.

    >>> print(labels({"group": 'a"b' + chr(10)}))
    {group="a\"b\n"}
    """
    return "{" + ",".join(f'{name}="{_escaped(text)}"' for name, text in values.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
