"""The table of all points: what its page draws of one run."""

from __future__ import annotations

from importlib import resources
from typing import Any

from sojourn.report import explore, testing


def test_a_run_that_is_not_valid_is_marked_where_its_seconds_are_drawn() -> None:
    """Its p99 of each second was drawn as that of a run that counts."""
    spec: Any = explore.of(testing.findings()).charts["one-run"]
    for channel in ("strokeDash", "color"):
        shown = spec["encoding"][channel]
        assert shown["field"] == "known"
        assert shown["scale"]["domain"] == list(explore.KNOWN)
        first, other = shown["scale"]["range"]
        assert first != other
    script = (resources.files("sojourn.report") / "templates/explore.js").read_text()
    sure, doubted = explore.KNOWN
    assert f'points.believed[at] ? "{sure}" : "{doubted}"' in script
    assert "known }))" in script
