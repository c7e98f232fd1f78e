"""The examples for GitHub and GitLab call what there is, and survive verdicts."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer

from sojourn import spec
from sojourn.cli.app import app

PAGE = Path(__file__).parents[1] / "docs/howto/compare.md"
RUN, HISTORY = "sojourn run ./server.toml", "sojourn history server"
#: Notes how it was called; `run` and `history` end with the codes of the environment.
STUB = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$(basename "$0") $1" in
    "sojourn run") exit "$RUN" ;;
    "sojourn history") exit "$HISTORY" ;;
esac
"""


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


def steps(block: str) -> list[str]:
    """Its scripts, each of which a runner gives to a shell that ends at the first error.

    GitHub runs each step by itself, and no further one after a failure; GitLab all lines as one.
    """
    lines: list[str] = []
    is_open = False
    for line in block.splitlines():
        text = line.strip()
        if match := re.match(r"- (?:run: )?(?!uses:)(?:>$)?(.*)", text):
            lines.append(match[1])
            is_open = True
        elif is_open and not re.match(r"- |[a-z_]+:", text):
            lines[-1] += f" {text}"
        else:
            is_open = False
    return lines if "runs-on:" in block else ["\n".join(lines)]


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


def of_history() -> list[str]:
    return [block for block in blocks() if "sojourn history" in block]


def played(block: str, folder: Path, *, run: int, history: int) -> tuple[list[str], int]:
    """Which programs a job calls, and how it ends; `run` and `history` end with these codes."""
    for name in ("sojourn", "pip", "make"):
        (folder / name).write_text(STUB)
        (folder / name).chmod(0o755)
    calls = folder / "calls"
    calls.unlink(missing_ok=True)
    env = {
        "PATH": f"{folder}:/usr/bin:/bin",
        "CALLS": str(calls),
        "RUN": str(run),
        "HISTORY": str(history),
        "SOJOURN_WHEEL": "sojourn.whl",
    }
    code = 0
    for script in steps(block):
        words = [str(shutil.which("bash")), "-e", "-c", script]
        code = subprocess.run(words, env=env, cwd=folder, check=False, timeout=60).returncode
        if code:
            break
    return [line.partition(" -")[0] for line in calls.read_text().splitlines()], code


@pytest.mark.parametrize("verdict", [0, 1, 3])
def test_a_job_goes_on_after_any_verdict(tmp_path: Path, verdict: int) -> None:
    assert len(of_history()) == 2
    for block in of_history():
        calls, code = played(block, tmp_path, run=verdict, history=0)
        assert calls == ["make ", "pip install sojourn.whl", RUN, HISTORY], block
        assert code == 0


@pytest.mark.parametrize("fault", [2, 4, 130])
def test_a_run_that_failed_ends_the_job(tmp_path: Path, fault: int) -> None:
    for block in of_history():
        calls, code = played(block, tmp_path, run=fault, history=0)
        assert calls[-1] == RUN
        assert code == 1


def test_few_records_are_no_failure_and_what_became_worse_is_one(tmp_path: Path) -> None:
    for block in of_history():
        _, few = played(block, tmp_path, run=3, history=3)
        allowed = re.search(r"allow_failure:\n +exit_codes: 3", block)
        assert few == (3 if allowed else 0), block
        calls, worse = played(block, tmp_path, run=0, history=1)
        assert calls[-1] == HISTORY
        assert worse == 1


def test_a_job_measures_the_users_server_and_no_built_in_one() -> None:
    built_in = {path.stem for path in spec.STUDIES.glob("*.toml")}
    assert "latency_vs_load" in built_in
    for block in of_history():
        words = {Path(word).stem for call in invocations(block) for word in call}
        assert not words & built_in
    line = r"^sojourn init --command '\./server .*-o (\S+)$"
    (study,) = re.findall(line, PAGE.read_text(), re.MULTILINE)
    assert {Path(study).stem, Path(study).name} == {
        HISTORY.rsplit(maxsplit=1)[-1],
        Path(RUN.rsplit(maxsplit=1)[-1]).name,
    }
