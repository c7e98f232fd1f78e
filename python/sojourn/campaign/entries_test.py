"""A study that failed has the points of its own record, not of another user's."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import spec, store
from sojourn.campaign import entries
from sojourn.errors import StoreFault
from sojourn.plan import next_point
from sojourn.plan.rehearsal import imagine
from sojourn.report.index import FAILED, Entry
from sojourn.testing_questions import PLANS

FAULT = StoreFault("it broke", at="here", fix="try again")


def stored(results: Path, name: str) -> Any:
    """A study that is planned, with a record of one point."""
    study = spec.load(name, profile="quick")
    with store.open(results, study, machine="m") as record:
        point = next_point(study, record.outcomes(), PLANS)
        assert point is not None
        record.add(replace(imagine(point), folder=str(record.folder(point))))
    return SimpleNamespace(whole=study, entry=Entry(study=study.name, question=study.question))


def test_points_of_an_own_record_are_counted(tmp_path: Path) -> None:
    one = stored(tmp_path, "max_load_memcached")
    entry = entries.faulty(one, FAULT, tmp_path)
    assert (entry.state, entry.points) == (FAILED, 1)
    assert entry.record.startswith("max_load_memcached/m/")


def test_the_newest_record_is_taken_whatever_its_folder_is_called(tmp_path: Path) -> None:
    one = stored(tmp_path, "max_load_memcached")
    home = tmp_path / "max_load_memcached/m"
    (newer,) = home.iterdir()
    older = home / "zulu"
    older.mkdir()
    manifest = json.loads((newer / "manifest.json").read_text())
    manifest["started"] = "2020-01-01T00:00:00+00:00"
    (older / "manifest.json").write_text(json.dumps(manifest))
    (older / "study.toml").write_text((newer / "study.toml").read_text())
    assert entries.faulty(one, FAULT, tmp_path).record == f"max_load_memcached/m/{newer.name}"


def test_a_record_of_another_user_or_behind_a_link_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = stored(tmp_path, "max_load_memcached")
    (record,) = (tmp_path / "max_load_memcached/m").iterdir()
    with monkeypatch.context() as patch:
        own = os.geteuid()
        patch.setattr(os, "geteuid", lambda: own + 1)
        assert entries.faulty(one, FAULT, tmp_path).points == 0
    assert entries.faulty(one, FAULT, tmp_path).points == 1
    elsewhere = record.rename(tmp_path / "elsewhere")
    record.symlink_to(elsewhere)
    assert entries.faulty(one, FAULT, tmp_path).points == 0
