"""Fixtures for the tests beside the modules and for those in `tests/`."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# No test asserts a time: an example may take as long as the machine lets it.
settings.register_profile("any_machine", deadline=None)
settings.load_profile("any_machine")

FakeHost = Callable[[str], Path]


@pytest.fixture
def fake_host(tmp_path: Path) -> FakeHost:
    """Write one of the fake machines of tests/hosts; returns its root folder."""
    source = Path(__file__).parent / "tests" / "hosts" / "machines.py"
    machines = runpy.run_path(str(source))

    def write(name: str) -> Path:
        root: Path = machines["write"](name, tmp_path / name)
        return root

    return write
