"""`sojourn rm` where one record cannot be removed: the others are reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sojourn import spec, store
from sojourn.cli.app import main
from sojourn.errors import Exit, StoreFault
from sojourn.store import remove


@pytest.mark.parametrize("as_json", [True, False])
def test_what_was_removed_before_a_fault_is_reported(
    *,
    as_json: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = []
    for machine in ("a", "b"):
        study = spec.load("selfcheck", profile="quick")
        with store.open(tmp_path, study, resume=False, machine=machine) as record:
            paths.append(record.path)
    usual = remove.remove

    def removed(results: Path, path: Path) -> int:
        if path == paths[1]:
            raise StoreFault("it cannot be removed: busy", at=str(path), fix="wait")
        return usual(results, path)

    monkeypatch.setattr(remove, "remove", removed)
    words = ["rm", paths[0].name, paths[1].name, "--yes", "--results", str(tmp_path)]
    assert main([*words, *(["--json"] if as_json else [])]) == Exit.FAILED
    seen = capsys.readouterr()
    results = [one["path"] for one in json.loads(seen.out)] if as_json else seen.out.split()
    assert results == [str(paths[0])]
    assert "it cannot be removed: busy" in seen.err
