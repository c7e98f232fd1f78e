"""The tutorial, lesson by lesson: its shell blocks are run in order, as a reader does.

Only ports and durations are made smaller. A line that ends with `# minutes` is a whole study, which
is planned instead; the one of lesson 3, which the lab itself starts and changes, is measured at one
load. What needs root or a record is in blocks of another kind, or begins with sudo.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.places import ports

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("turn")]

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "docs/tutorial").glob("*.md"))
PORTS = ("8080", "7777", "7778")
MEASURED = "3-what-may-share"
#: One load, some points of half a second each, on a machine that may be busy.
ONE_LOAD = (
    "aa=false",
    "run.fractions=[0.3]",
    "run.measure_s=0.5",
    "run.warmup_s=0.1",
    "run.peak_s=0.5",
    "run.retries=0",
    "services.command.load.outage_over=10s",
    "services.command.load.timely_within=10s",
)
SETS = " ".join(f"--set '{text}'" for text in ONE_LOAD)
SHORTER = (
    (r"--duration 6s", "--duration 1s --drain 60s"),
    (r"--duration 8s", "--duration 3s"),
    (r"^(sojourn try \S+)", r"\1 --rates 50 --force"),
    (r"^sojourn run (-p quick own\.toml) *# minutes$", rf"sojourn run \1 --force {SETS}"),
    (r"^sojourn run (.*)# minutes$", r"sojourn plan \1"),
)
WITHIN_S = 600.0  # a guard against a hang
#: A verdict is no mistake: 0, 1 and 3 are answers.
HEAD = """
set -u
answered() { case $1 in 0|1|3) ;; *) echo "exit code $1: $2" >&2; exit 9 ;; esac; }
open() { (: < "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }
listens() { for _ in $(seq 600); do open "$1" && return; sleep 0.1; done; exit 8; }
"""


def script(page: Path, moved: dict[str, str]) -> str:
    """The lesson's shell blocks as one script."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    text = "\n".join(blocks).replace("\\\n", " ")
    for port, free in moved.items():
        text = re.sub(rf"\b{port}\b", free, text)
    made = []
    is_file = False
    for line in text.splitlines():
        short = line
        for pattern, instead in SHORTER:
            short = re.sub(pattern, instead, short)
        is_file = (is_file or short.startswith("cat >")) and line != "END"
        port = re.search(r"(?:--port|shop\.py) (\d+) &$", short)
        if short.startswith("sudo"):
            continue
        if short.startswith("sojourn") and not short.endswith("&") and not is_file:
            command = re.sub(r"\s+#.*", "", short)
            short = f"{command}; answered $? {command.split()[1]!r}"
        made.append(short)
        made += [f"listens {port[1]}"] if port else []
    return HEAD + "\n".join(made) + "\n"


@pytest.mark.parametrize("page", LESSONS, ids=lambda page: page.stem)
def test_a_reader_who_types_the_lesson_gets_answers(page: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sojourn-load", "sojourn-serve", "sojourn-noise"):
        (tools / name).symlink_to(programs.find(name))
    starter = tools / "sojourn"
    starter.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sojourn "$@"\n')
    starter.chmod(0o755)
    text = script(page, {port: str(ports.free()) for port in PORTS})
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    bash = shutil.which("bash")
    assert bash
    log = tmp_path / "lesson.log"
    with (
        log.open("w") as out,
        subprocess.Popen(
            [bash, "-c", text],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "SOJOURN_RESULTS": "results"},
            stdout=out,
            stderr=out,
            start_new_session=True,
        ) as made,
    ):
        try:
            code = made.wait(WITHIN_S)
        finally:
            os.killpg(made.pid, signal.SIGKILL)  # and what the lesson left in the background
    assert code == 0, log.read_text()[-4000:]
    is_measured = re.search(r"^sojourn run ", text, re.MULTILINE) is not None
    assert is_measured == (page.stem == MEASURED)
    if is_measured:
        assert list(tmp_path.glob("results/*/*/*/points/*/outcome.parquet")), "nothing answered"


def test_a_mistake_in_a_lesson_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "lesson.md"
    page.write_text("```sh\nsojourn try http://localhost:8080/ --bond 5ms\n```\n")
    text = script(page, {"8080": "1"})
    assert "/localhost:1/ --rates 50 --force --bond 5ms; answered $? 'try'\n" in text


def test_all_lessons_are_in_the_site_and_in_order() -> None:
    nav = (ROOT / "mkdocs.yml").read_text()
    assert [page.name for page in LESSONS] == re.findall(r"tutorial/(\S+\.md)", nav)
