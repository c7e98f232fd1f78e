"""Each command line in the docs has a verb and options that its program has.

`tests/e2e/readme_test.py` and `tests/e2e/tutorial_test.py` run what README and tutorial show. The
how-tos have hundreds of lines, many of which take hours, root or other machines: these are held
against what the programs know.
"""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from sojourn import programs
from sojourn.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs/howto").glob("*.md"),
    *(ROOT / "docs/tutorial").glob("*.md"),
    *(ROOT / "docs/reference").glob("*.md"),
]
NATIVE = ("counters", "load", "noise", "query", "sched", "serve", "sim", "trace")
_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_HEREDOC = re.compile(r"^(.*)<<'?(\w+)'?\n.*?^\2$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(sojourn(?:-[a-z]+)? [^`\n]+)`")
#: Verbs that refuse to begin without one of these.
NEEDED = {"whatif": {"--service", "--from"}}
_BREAK = {"|", "||", "&&", ";", "&", ">", ">>", "2>", "<"}


def lines(text: str) -> Iterator[str]:
    """Command lines in code blocks and in running text."""
    for language, block in _FENCE.findall(text):
        if language not in {"", "sh", "console"}:
            continue
        for line in _HEREDOC.sub(r"\1", block).replace("\\\n", " ").splitlines():
            yield line.strip().removeprefix("$ ")
    yield from _INLINE.findall(text)


def commands(line: str) -> Iterator[list[str]]:
    """The words of each command of a line that starts a program of the lab."""
    line = re.sub(r'"\$\(command -v ([\w-]+)\)"', r"\1", line)  # the path that sudo needs
    line = re.sub(r"\s{2,}#.*| # .*|…", "", re.sub(r"\$\(\([^)]*\)[^)]*\)|\$\([^)]*\)", "1", line))
    try:
        words = shlex.split(line)
    except ValueError:  # an apostrophe of a sentence
        return
    part: list[str] = []
    for word in [*words, ";"]:
        if word in _BREAK or word.endswith(";"):
            yield from _ours(part)
            part = []
        else:
            part.append(word)


def _ours(words: list[str]) -> Iterator[list[str]]:
    while words and (words[0] in {"sudo", "time", "nohup", "exec"} or "=" in words[0]):
        words = words[1:]
    name = Path(words[0]).name if words else ""
    if re.fullmatch(r"sojourn(-[a-z]+)?", name):
        yield [name, *words[1:]]


@functools.cache
def verbs() -> dict[str, set[str]]:
    """Each verb of `sojourn` with its options."""
    group = typer.main.get_command(app)
    own = {option for one in group.params for option in (*one.opts, *one.secondary_opts)}
    table = {"": own | {"--help", "-h", "--version"}}
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        table[name] = {o for one in command.params for o in (*one.opts, *one.secondary_opts)}
        for sub in getattr(command, "commands", {}).values():
            table[name] |= {o for one in sub.params for o in (*one.opts, *one.secondary_opts)}
    return table


@functools.cache
def helped(name: str) -> str:
    """What a native program says of its options, those of its parts too; "": it is not built."""
    path = programs.maybe(name)
    if path is None:
        return ""

    def help_of(*words: str) -> str:
        made = subprocess.run([path, *words, "--help"], capture_output=True, text=True, check=False)
        return made.stdout

    text = help_of()
    parts = re.findall(r"^  ([a-z][a-z-]+)  ", text.partition("Commands:\n")[2], re.MULTILINE)
    return "\n".join([text, *map(help_of, parts)])


def options(words: list[str]) -> Iterator[str]:
    """Names of options, up to the command of somebody else."""
    for word in words:
        if word == "--":
            return
        if re.match(r"--?[a-zA-Z]", word):
            yield word.partition("=")[0]


def wrong(words: list[str]) -> str:
    """What is wrong with a command; "" if nothing is."""
    name, *rest = words
    if name != "sojourn":
        text = helped(name)
        bad = [o for o in options(rest) if text and not re.search(rf"(?<![\w-]){o}(?![\w-])", text)]
        return f"{name} has no {bad[0]}" if bad else ""
    verb = rest[0] if rest and not rest[0].startswith("-") else ""
    if verb not in verbs():
        return f"sojourn has no {verb}" if re.fullmatch(r"[a-z-]+", verb) else ""
    has = {*options(rest)}
    if has and not has & {"--help", "-h", *NEEDED.get(verb, has)}:
        return f"sojourn {verb} lacks {' or '.join(sorted(NEEDED[verb]))}"
    bad = has - {*verbs()[verb], "--help", "-h"}
    return f"sojourn {verb} has no {min(bad)}" if bad else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_of_a_command_exists(page: Path) -> None:
    faults = [
        f"{what}: {line}"
        for line in lines(page.read_text())
        for words in commands(line)
        if (what := wrong(words))
    ]
    assert not faults


def test_commands_are_seen_and_mistakes_in_them_too() -> None:
    seen = [words for page in PAGES for line in lines(page.read_text()) for words in commands(line)]
    assert len(seen) > 300
    assert {words[0] for words in seen} >= {"sojourn", "sojourn-load", "sojourn-serve"}
    (one,) = commands("sudo sojourn judge --port 80 --rats 5 -- wrk2 -R2000 | head")
    assert wrong(one) == "sojourn judge has no --rats"
    (one,) = commands('sudo "$(command -v sojourn)" judge --rats 5 -- "$(command -v wrk2)" -R2000')
    assert wrong(one) == "sojourn judge has no --rats"
    assert wrong(["sojourn", "rum", "x"]) == "sojourn has no rum"
    assert (
        wrong(["sojourn", "whatif", "--fanout", "5"]) == "sojourn whatif lacks --from or --service"
    )
    assert list(options(["judge", "--port", "1", "--", "wrk", "--x"])) == ["--port"]
    if helped("sojourn-load"):
        assert wrong(["sojourn-load", "null:", "--rat=5"]) == "sojourn-load has no --rat"
