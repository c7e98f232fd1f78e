"""Sessions on a real NGINX, with films of a few bytes that need no ffmpeg."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import samples
from sojourn.install import media_streaming as films
from sojourn.install.part import Made, hashed
from sojourn.plan import Point
from sojourn.plan.points import Verdict
from sojourn.services import media_streaming
from sojourn.spec import Study

pytestmark = pytest.mark.e2e

Measure = Callable[[Study, Point], Path]
Needs = Callable[[str], None]
KIND = "media_streaming"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One film whose chunks are the longer the better it is, as if it had been installed."""
    at = tmp_path / "films"
    for quality, part in enumerate(films.names(1)):
        for number, name in enumerate(part):
            (at / name).parent.mkdir(parents=True, exist_ok=True)
            (at / name).write_bytes(f"{quality} {number} ".encode() * (500 * (quality + 1)))
    films.describe(at, list(films.names(1)))
    names = sorted(str(path.relative_to(at)) for path in at.rglob("*") if path.is_file())
    facts = {"films": "1", "qualities": "four", "total_bytes": "200000", "ffmpeg": "none"}
    stored = Made(at=at, files={name: hashed(at / name) for name in names}, facts=facts)
    monkeypatch.setattr(media_streaming, "made", lambda: stored)
    return at


@pytest.mark.usefixtures("made")
def test_sessions_are_served_and_distinguished_by_what_they_ask_for(
    lab: SimpleNamespace, needs: Needs, measure: Measure
) -> None:
    needs("nginx")
    folder = measure(lab.study(KIND), lab.point(KIND))
    outcome, load = samples.read(folder), json.loads((folder / "load.json").read_text())
    assert outcome.requests > 0
    assert lab.wrong(folder) == {}
    assert load["replies"]["checked"] > 0
    assert load["replies"]["failed"] == {}
    seen = load["sessions"]
    assert seen["chunks"] > seen["begun"] > 0  # ten chunks to a play list
    assert seen["play_list_ns"]["count"] + seen["chunk_ns"]["count"] == outcome.requests
    assert seen["lost_chunks"] == 0


def test_a_chunk_that_is_cut_short_is_found(
    lab: SimpleNamespace, needs: Needs, measure: Measure, made: Path
) -> None:
    needs("nginx")
    for quality in range(len(films.QUALITIES)):
        cut = made / f"film0/q{quality}/3.ts"
        cut.write_bytes(cut.read_bytes()[:100])
    folder = measure(lab.study(KIND), lab.point(KIND))
    load = json.loads((folder / "load.json").read_text())
    assert load["errors"].keys() == {"length"}
    assert load["sessions"]["lost_chunks"] > 0
    assert load["sessions"]["stalled"] > 0
    assert samples.read(folder).verdict is Verdict.UNKNOWN
