"""Names and modules that are loaded when they are first asked for.

A command that prints one table must not wait for databases, statistics and figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from sys import modules
from types import ModuleType
from typing import Any


def names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """A package's `__getattr__` (PEP 562).

    Args:
        package: its name.
        homes: what each of its modules gives, by the module's name, `x` or `x as y`. None may be
            called as a module of the package is, because Python puts the module under that name.

    >>> names("sojourn", {"units": ["show_ns"]})("show_ns")(1500.0)
    '1.50 µs'
    """
    home_of = {
        text.split()[-1]: (home, text.split()[0])
        for home, exports in homes.items()
        for text in exports
    }

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        home, known_as = home_of[name]
        value = getattr(import_module(f"{package}.{home}"), known_as)
        setattr(modules[package], name, value)
        return value

    return find


class _Module(ModuleType):
    """A module that is loaded when something of it is first used."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)  # the next time it is at hand
        return value


def module(name: str) -> ModuleType:
    """Stand in for a heavy module in a file that many commands load and few use.

    Who reads types sees the real one, which is imported for them alone.

    >>> module("math").sqrt(9.0)
    3.0
    """
    return _Module(name)
