"""`sojourn install`, of a thing that a fake offers; nothing is downloaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from sojourn import install, programs
from sojourn.cli import app
from sojourn.errors import Exit
from sojourn.install import Made, Part, debs
from sojourn.install.debs import Deb, Offer


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Packages that were downloaded."""
    reports: list[str] = []

    def make(unpacked: Path, into: Path) -> Mapping[str, str]:
        (into / "file").write_text((unpacked / "file").read_text())
        return {"release": "7"}

    def unpack(offer: Offer, into: Path) -> None:
        reports.append(offer.deb.package)
        into.mkdir(parents=True)
        (into / "file").write_text("kept")

    def offered(deb: Deb) -> Offer:
        return Offer(deb=deb, bytes=49_146_196, kind="", sum="", options=())

    thing = Part(
        name="thing",
        about="a thing",
        version="7",
        debs=(Deb(package="web"),),
        make=make,
        needs={"no-such-program": "no-such-package"},
    )
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    monkeypatch.setattr(install, "KINDS", {"thing": thing})
    monkeypatch.setattr(debs, "offer", offered)
    monkeypatch.setattr(debs, "unpack", unpack)
    monkeypatch.setattr(programs, "maybe", lambda _: None)
    return reports


def test_sizes_are_reported_first_and_no_one_is_asked_behind_a_pipe(
    fetched: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.main(["install", "thing"]) == Exit.USAGE
    err = capsys.readouterr().err
    assert "web: 49.1 MB to download" in err
    assert "give --yes" in err
    assert not fetched


def test_what_was_fetched_is_reported_with_what_is_still_missing(
    fetched: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert app.main(["install", "thing", "--yes"]) == Exit.OK
    out, err = capsys.readouterr()
    assert out.strip() == str(tmp_path / "thing-7")
    assert "release 7" in err
    assert "still missing: no-such-program (apt install no-such-package)" in err
    assert fetched == ["web"]
    assert app.main(["install", "--json"]) == Exit.OK
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["is_installed"]) == ("thing", True)


def test_where_nothing_is_to_be_downloaded_no_one_is_asked(
    fetched: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(unpacked: Path, into: Path) -> Mapping[str, str]:
        del unpacked
        (into / "file").write_text("made here")
        return {}

    own = Part(name="own", about="a thing", version="1", debs=(), make=make)
    monkeypatch.setattr(install, "KINDS", {"own": own})
    assert app.main(["install", "own"]) == Exit.OK
    assert "nothing to download" in capsys.readouterr().err
    assert (own.ready().at / "file").read_text() == "made here"
    assert not fetched


def test_an_unknown_name_is_answered_with_what_there_is(
    fetched: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.main(["install", "thin"]) == Exit.USAGE
    assert "did you mean thing?" in capsys.readouterr().err
    assert not fetched


def test_a_thing_that_was_fetched_can_be_used(fetched: list[str]) -> None:
    assert app.main(["install", "thing", "--yes"]) == Exit.OK
    made = install.KINDS["thing"].ready()
    assert isinstance(made, Made)
    assert fetched == ["web"]


def test_what_is_there_whole_is_not_fetched_again_unless_asked(
    fetched: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.main(["install", "thing", "--yes"]) == Exit.OK
    capsys.readouterr()
    assert app.main(["install", "thing"]) == Exit.OK
    out, err = capsys.readouterr()
    folder = install.KINDS["thing"].folder
    assert out.strip() == str(folder)
    assert "is there" in err
    assert fetched == ["web"]
    assert app.main(["install", "thing", "--yes", "--again"]) == Exit.OK
    (folder / "file").write_text("changed")
    assert app.main(["install", "thing", "--yes"]) == Exit.OK
    assert fetched == ["web"] * 3


def test_what_is_made_here_says_its_size_and_needs_what_makes_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def make(unpacked: Path, into: Path) -> Mapping[str, str]:
        assert not unpacked.exists()
        (into / "film").write_text("a film")
        return {"films": "1"}

    made = Part(
        name="made",
        about="a film",
        version="1",
        debs=(),
        make=make,
        made_bytes=93_000_000,
        needs={"no-such-maker": "no-such-package"},
    )
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    monkeypatch.setattr(install, "KINDS", {"made": made})
    assert app.main(["install", "made", "--yes"]) == Exit.USAGE
    err = capsys.readouterr().err
    assert "about 93.0 MB" in err
    assert "asking apt" not in err
    assert "apt install no-such-package" in err
    monkeypatch.setattr(programs, "find", lambda name, fix=None: Path(name))
    assert app.main(["install", "made"]) == Exit.USAGE
    assert "to make 93.0 MB" in capsys.readouterr().err
    assert app.main(["install", "made", "--yes"]) == Exit.OK
    assert (tmp_path / "made-1" / "film").read_text() == "a film"
