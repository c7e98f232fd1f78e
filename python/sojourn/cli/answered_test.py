"""`show` reads the answer that was computed, which is the one it would compute."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from sojourn import pipeline, store
from sojourn.cli.app import main
from sojourn.disk import cache
from sojourn.errors import Exit
from sojourn.findings.findings import Findings
from sojourn.questions import flat
from sojourn.text.plain_values import plain

GOLDEN = Path(store.__file__).parent / "golden" / "record-1.tar.xz"


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    with tarfile.open(GOLDEN) as packed:
        packed.extractall(tmp_path)  # noqa: S202 - our own; Python 3.11.2 knows no filters
    return tmp_path


def test_what_was_computed_is_read_and_is_the_same_to_the_byte(
    results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[Findings] = []
    real = pipeline.findings_of

    def counted(path: Path) -> Findings:
        computed.append(real(path))
        return computed[-1]

    def result(*words: str) -> str:
        assert main([*words, "--results", str(results)]) == Exit.OK
        return capsys.readouterr().out

    monkeypatch.setattr(pipeline, "findings_of", counted)
    anew = result("show")  # the summaries of its points are made, so the record has changed
    written = result("report")
    assert len(computed) == 2
    assert (result("show"), result("report")) == (anew, written)
    assert json.loads(result("show", "--json")) == plain(flat(computed[0]))
    assert len(computed) == 2, "it was computed anew"

    monkeypatch.setattr(pipeline, "findings_of", lambda _path: computed.append(computed[0]))
    (record,) = store.records(results)
    (record / "report.txt").unlink()
    main(["report", "--results", str(results)])  # its files are not as they were written
    assert len(computed) == 3
    shutil.copytree(cache.place(), record / "answers")  # what a record brings along is not asked
    monkeypatch.setenv("XDG_CACHE_HOME", str(results / "mine"))
    main(["show", "--results", str(results)])
    assert len(computed) == 4
