"""The committed contract is the code's."""

from __future__ import annotations

import pytest

from sojourn.schema import documents
from sojourn.schema.__main__ import HERE


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return {f"{name}.json": documents.text(doc) for name, doc in documents.documents().items()}


def test_committed_schema_is_what_the_code_says(made: dict[str, str]) -> None:
    committed = {path.name: path.read_text(encoding="utf-8") for path in HERE.glob("*.json")}
    assert set(committed) == set(made)
    for name, text in made.items():
        assert committed[name] == text, f"{name} is stale: run `make schema` and commit"
