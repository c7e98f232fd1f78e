"""What is shown of a record when it is opened."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from sojourn import spec
from sojourn.cli import live

NOTE = "a new record begins: the unfinished 20261126T120000Z-7d37 has CPUs 0-1 (here 0-3)"


@pytest.mark.parametrize("is_quiet", [True, False])
def test_why_a_record_is_begun_or_how_it_goes_on_is_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_quiet: bool
) -> None:
    monkeypatch.setattr(live, "who_where", lambda *_: [])
    study, out = spec.load("max_load_memcached", profile="quick"), io.StringIO()
    record: Any = SimpleNamespace(
        path=tmp_path, outcomes=lambda: (), study_here=study, notes=(NOTE,), skipped=()
    )
    facts: Any = None
    live.Display(study, Console(file=out, width=200), is_quiet=is_quiet).opened(record, facts)
    assert (NOTE in out.getvalue().splitlines()) is not is_quiet
