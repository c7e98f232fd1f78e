"""`sojourn mcp` as typed: what it does before it answers."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from sojourn import extras
from sojourn.browse import priority
from sojourn.cli.app import main


def test_it_steps_back_behind_a_measurement_before_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def serve(results: Path, *, has_notes: bool) -> None:
        done.append(f"answers on {results}, notes: {has_notes}")

    server = ModuleType("sojourn.assistant.serve")
    monkeypatch.setattr(server, "serve", serve, raising=False)
    monkeypatch.setitem(sys.modules, "sojourn.assistant.serve", server)
    monkeypatch.setattr(extras, "is_here", lambda _: True)
    monkeypatch.setattr(priority, "step_back", lambda: done.append("steps back"))
    assert main(["mcp", str(tmp_path)]) == 0
    assert done == ["steps back", f"answers on {tmp_path}, notes: False"]
