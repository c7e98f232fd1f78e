"""Every option of a command that the docs show is one of that command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from tests.docs_test import PAGES, ROOT

from sojourn.cli.app import app

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
SHOWN = re.compile(
    r"(?:^|[&|;(] *|sudo |\$ |run: )sojourn ([a-z]+)((?:[^\S\n]+[^\s|#;&]+)*)", re.MULTILINE
)
BARE = re.compile(r"^ *(?:sudo )?sojourn [a-z][^#]*[^#\s] {2,}[a-z]")  # a comment without its mark


def pieces(text: str) -> Iterator[str]:
    """The code of a page: blocks, with continued lines joined, and spans, each on one line."""
    yield from (block.replace("\\\n", " ") for block in FENCED.findall(text))
    yield from (" ".join(span.split()) for span in SPAN.findall(FENCED.sub("", text)))


def shown(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a page, with what follows up to the load behind `--`."""
    for piece in pieces(text):
        for match in SHOWN.finditer(QUOTED.sub("X", piece)):
            yield match[1], re.split(r" -- ", match[2])[0]


def unknown(text: str) -> list[str]:
    """`COMMAND --OPTION` of all that a command does not have."""
    results = []
    for command, rest in shown(text):
        if command in COMMANDS:
            known = {flag for param in COMMANDS[command].params for flag in param.opts}
            known |= {flag for param in COMMANDS[command].params for flag in param.secondary_opts}
            words = re.findall(r"(?<!\S)(--[a-z][a-z-]*)", rest)
            results += [f"{command} {word}" for word in words if word not in {*known, "--help"}]
    return results


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_option_that_a_page_shows_is_there(page: Path) -> None:
    assert unknown(page.read_text()) == []


def test_an_option_that_is_not_there_is_seen_in_a_wrapped_line_too() -> None:
    assert unknown("`sojourn run x --vary a=1,2\n--neighbour spin`") == ["run --neighbour"]
    block = "```sh\nsojourn run x \\\n    --neighbour spin\nsojourn judge -- k6 --vus 3\n```"
    assert unknown(block) == ["run --neighbour"]
    assert list(shown("`sojourn plan x`"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_comment_behind_a_command_can_be_copied_with_it(page: Path) -> None:
    lines = [line for piece in pieces(page.read_text()) for line in piece.splitlines()]
    assert [line for line in lines if BARE.match(line)] == []


def test_a_comment_behind_an_example_of_the_help_can_be_copied_with_it() -> None:
    texts = [app.info.help, *(command.help for command in COMMANDS.values())]
    lines = [line for text in texts for line in (text or "").splitlines()]
    assert any("sojourn plan --all" in line for line in lines)
    assert [line for line in lines if BARE.match(line)] == []
