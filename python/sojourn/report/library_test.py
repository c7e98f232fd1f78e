from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn import extras
from sojourn.errors import HostFault
from sojourn.report import library


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    library._known.cache_clear()
    yield
    library._known.cache_clear()


def test_a_release_has_the_script_and_needs_no_vl_convert(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = library.packed(), library.digest()
    library.ship(tmp_path / "library.json")
    library._known.cache_clear()
    monkeypatch.setattr(extras, "SCRIPT", tmp_path / "library.json")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert (library.packed(), library.digest()) == made
    assert extras.is_here(extras.PAGES)
    with pytest.raises(HostFault, match="pictures need"):
        extras.need(extras.PICTURES)


def test_a_script_of_another_vega_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "library.json").write_text('["5.0 other", "packed", "digest"]')
    monkeypatch.setattr(extras, "SCRIPT", tmp_path / "library.json")
    assert library.packed() != "packed"


def test_without_both_a_page_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "SCRIPT", tmp_path / "absent")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(HostFault, match="vl_convert"):
        library.packed()
