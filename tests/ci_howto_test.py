"""The examples for GitHub and GitLab call `sojourn` with options that it has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import typer

from sojourn.cli.app import app

PAGE = Path(__file__).parents[1] / "docs/howto/compare.md"


def blocks() -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def invocations(block: str) -> list[list[str]]:
    """Each call of the lab with its words; a line without a key or a dash goes on with it."""
    calls: list[str] = []
    is_open = False
    for line in block.splitlines():
        text = re.sub(r"\$\{\{.*?\}\}", "VALUE", line.strip())
        if match := re.match(r"(?:- )?(?:run: )?(sojourn .*)", text):
            calls.append(match[1])
            is_open = True
        elif is_open and not re.match(r"- |[a-z_]+:", text):
            calls[-1] += f" {text}"
        else:
            is_open = False
    return [shlex.split(call) for call in calls]


def unknown(words: list[str]) -> list[str]:
    """What of a call the program does not know."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    if words[1] not in commands:
        return [words[1]]
    known = {name for one in commands[words[1]].params for name in one.opts}
    return [word for word in words[2:] if word.startswith("--") and word not in known]


def test_every_example_calls_what_there_is() -> None:
    calls = [call for block in blocks() for call in invocations(block)]
    assert {call[1] for call in calls} == {"gate", "run", "history"}
    assert len(blocks()) == 4
    for call in calls:
        assert unknown(call) == [], call


def test_an_option_that_is_gone_is_seen() -> None:
    assert unknown(["sojourn", "gate", "--baseline", "a", "--old", "b"]) == ["--old"]
    assert unknown(["sojourn", "gates"]) == ["gates"]
