"""Results of vegeta with the bodies of large replies in them."""

from __future__ import annotations

import base64
import csv
import io
import json
from pathlib import Path

import pytest

from sojourn import importers
from sojourn.errors import SpecFault
from sojourn.importers.file import LINE_BYTES
from sojourn.importers.testing import content, put


def with_bodies(name: str, size: int) -> bytes:
    """The sample, where each reply had a body of so many bytes."""
    body = base64.b64encode(b"x" * size).decode()
    lines = content(name).decode().splitlines()[:3]
    if name.endswith(".json"):
        return "\n".join(json.dumps(json.loads(line) | {"body": body}) for line in lines).encode()
    out = io.StringIO()
    rows = csv.reader(lines)
    csv.writer(out, lineterminator="\n").writerows([*row[:6], body, *row[7:]] for row in rows)
    return out.getvalue().encode()


@pytest.mark.parametrize("name", ["vegeta.csv", "vegeta.json"])
@pytest.mark.parametrize("size", [100_000, 900_000, 2_000_000])
def test_a_large_body_is_read_over(name: str, size: int, tmp_path: Path) -> None:
    form, (series,) = importers.read(put(tmp_path, with_bodies(name, size)))
    assert (form.name, series.requests) == (name.replace(".", "-"), 3)


@pytest.mark.parametrize("name", ["vegeta.csv", "vegeta.json"])
def test_a_body_beyond_the_bound_is_refused_with_what_helps(name: str, tmp_path: Path) -> None:
    path = put(tmp_path, with_bodies(name, LINE_BYTES))
    with pytest.raises(SpecFault, match="longer than") as caught:
        importers.read(path, name.replace(".", "-"))
    assert "max-body" in caught.value.fix
    assert "cut short" not in str(caught.value)


def test_a_whole_file_beyond_its_bound_is_no_matter_of_bodies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn.importers.file.WHOLE_BYTES", 1000)
    with pytest.raises(SpecFault, match=r"has more than|at most") as caught:
        importers.read(put(tmp_path, content("memtier.json")))
    assert "shorter run" in caught.value.fix
