"""Writes the manual page of `sojourn` and its completion for bash, zsh and fish.

    python scripts/pages.py FOLDER

They are laid out as below `/usr/share`, beside those of the native programs, which
`crates/tools/examples/pages.rs` writes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from sojourn import __version__
from sojourn.cli.app import app

ROOT = Path(__file__).parent.parent
SHELLS = {
    "bash": "bash-completion/completions/sojourn",
    "zsh": "zsh/site-functions/_sojourn",
    "fish": "fish/vendor_completions.d/sojourn.fish",
}
MANUAL = "man/man1/sojourn.1"


def page() -> str:
    """The manual in roff: the program, then each command with its options."""
    top = typer.main.get_command(app)
    parts = [
        f'.TH SOJOURN 1 "" "sojourn {__version__}" "User Commands"',
        ".SH NAME",
        "sojourn \\- measure the tail latency of a service under load",
        ".SH SYNOPSIS",
        ".B sojourn",
        "COMMAND [OPTION]...",
        ".SH DESCRIPTION",
        *_prose(top.help or ""),
        ".SH COMMANDS",
    ]
    for words, command in commands("sojourn", top):
        parts += [f'.SS "{_plain(words)}"', *_prose(command.help or "")]
        for param in command.params:
            parts += _entry(param)
    return "\n".join(parts) + "\n"


def commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Each command with what one types for it, in the order of the help."""
    for name, part in getattr(command, "commands", {}).items():
        if not part.hidden:
            yield f"{path} {name}", part
            yield from commands(f"{path} {name}", part)


def _entry(param: Any) -> list[str]:
    """An option or argument; nothing for those that help leaves out."""
    if getattr(param, "hidden", False):
        return []
    names = [*param.opts, *param.secondary_opts]
    value = param.metavar or param.name.upper()
    if names[0].startswith("-"):
        head = ", ".join(names) + ("" if param.is_flag else f" {value}")
    else:
        head = value
    return [".TP", f".B {_plain(head)}", _plain(param.help or "")]


def _prose(text: str) -> Iterator[str]:
    """Paragraphs; those that are marked as they are, line by line."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = paragraph.splitlines()
        if lines[0].strip() == "\b":
            yield from (".PP", ".nf", *map(_plain, lines[1:]), ".fi")
        else:
            yield from (".PP", _plain(" ".join(line.strip() for line in lines)))


def _plain(text: str) -> str:
    """Text in which nothing is a request or an escape of roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def completion(shell: str) -> str:
    """The script that lets a shell ask `sojourn` itself."""
    environment = {**os.environ, "_SOJOURN_COMPLETE": f"source_{shell}"}
    start = "import sys; from sojourn.cli.app import main; sys.exit(main([]))"
    done = subprocess.run(
        [sys.executable, "-c", start],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def main() -> int:
    folder = Path(sys.argv[1])
    for place, text in ((MANUAL, page()), *((SHELLS[s], completion(s)) for s in SHELLS)):
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
