"""Mutants of a crate, as cargo-mutants lists them: tried one by one with its unit tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BUILD_S_MAX = 1200.0
TIMES_MAX = 10  # as long as the tests take without a mutant: longer, and it never ends
LEAST_S = 60.0


@dataclass(slots=True)
class Crate:
    """A crate in the copy of the tree; `package` is its name for cargo."""

    tree: Path
    package: str
    most_s: float = 600.0

    def listed(self) -> list[dict[str, Any]]:
        """Every mutant: name, file, span, replacement; without those of the tests themselves."""
        command = ["cargo", "mutants", "--list", "--json", "-p", self.package]
        done = subprocess.run(command, cwd=self.tree, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit("error: no list of mutants\n  fix: cargo install cargo-mutants --locked")
        listed = sorted(json.loads(done.stdout), key=lambda mutant: str(mutant["name"]))
        return [mutant for mutant in listed if "test" not in mutant["file"]]

    def tried(self, mutant: dict[str, Any]) -> str:
        """What became of one mutant; the file is put back."""
        file = self.tree / mutant["file"]
        text = file.read_text()
        start, end = (_offset(text, mutant["span"][at]) for at in ("start", "end"))
        # A function's body is replaced without its braces, a field with its comma.
        file.write_text(f"{text[:start]}{mutant['replacement']}{text[end:]}")
        try:
            return self.outcome(near=_module(mutant["file"]))
        finally:
            file.write_text(text)

    def outcome(self, near: str = "") -> str:
        """`survived`, `caught`, or `no mutant` if it does not compile. What never ends is caught.

        Builds take most of the time, not the tests: hence the profile (Cargo.toml).

        Args:
            near: start of the names of tests that run before all others; "": no mutant.
        """
        test = ["cargo", "test", "--profile", "gate", "--quiet", "-p", self.package, "--lib"]
        if _ended(self.tree, [*test, "--no-run"], BUILD_S_MAX):
            return "no mutant"
        began_s = time.monotonic()
        if near and _ended(self.tree, [*test, "--", near], self.most_s):
            return "caught"
        if _ended(self.tree, test, self.most_s):
            return "caught"
        if not near:
            self.most_s = max(LEAST_S, TIMES_MAX * (time.monotonic() - began_s))
        return "survived"


def _module(file: str) -> str:
    """Tests of a file's top module: `queue::` of `crates/sim/src/queue/run.rs`."""
    return Path(file.partition("/src/")[2]).parts[0].removesuffix(".rs") + "::"


def _offset(text: str, at: dict[str, int]) -> int:
    """Offset of a line and column, both counted from 1."""
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: at["line"] - 1])) + at["column"] - 1


def _ended(tree: Path, command: Sequence[str], most_s: float) -> int:
    """Status of a command, 1 if it had to be ended."""
    child = subprocess.Popen(
        command,
        cwd=tree,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return child.wait(most_s)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # cargo's child runs the tests
        child.wait()
        return 1
