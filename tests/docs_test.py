"""The docs name what exists: commands, targets, studies, links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from sojourn.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/howto/*.md")])


@pytest.fixture(scope="module")
def text() -> str:
    return "\n".join(page.read_text() for page in PAGES)


def test_every_make_target_in_the_docs_exists(text: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`?make ([a-z]+)[` ]", text)) - {"the"}
    assert named
    assert named <= targets


def test_every_command_in_the_docs_exists(text: str) -> None:
    commands = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    named = set(re.findall(r"`sojourn ([a-z]+)[` ]", text))
    assert named
    assert named <= commands


def test_every_study_in_the_docs_exists_and_opens_with_its_question(text: str) -> None:
    studies = {path.stem: path for path in (ROOT / "python/sojourn/studies").glob("*.toml")}
    named = set(re.findall(r"sojourn run ([a-z_]+)", text))
    assert named
    assert named <= set(studies)
    for path in studies.values():
        assert path.read_text().startswith("#"), path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target
