"""Holds the licences of all dependencies against those that this project may be given on under.

Everything that `requirements.lock` installed and that Cargo.lock brings into a build here, with all
features, tests and build scripts. Exit 1 if one is not allowed or says nothing that can be read.

cargo-deny would do this for Rust alone. It is not in the gate, because each pristine root would
compile it from hundreds of crates first. What else it checks is checked elsewhere: registry, sums,
crates that are there twice or banned in `tests/locks_test.py`, advisories by `scripts/audit`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent
# fmt: off
ALLOWED = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT",
    "MIT-0", "PSF-2.0", "Unicode-3.0", "Unlicense", "Zlib",
}
# fmt: on
# Used by those who develop, given on to no one, and not changed.
ALLOWED_TO_DEVELOP = {"certifi": "MPL-2.0", "hypothesis": "MPL-2.0", "pathspec": "MPL-2.0"}
# Classifiers of old packages that name no version; the version as their licence files have it.
BY_WORDS = {
    "MIT License": "MIT",
    "MIT": "MIT",
    "BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}


def allowed(expression: str, more: str = "") -> bool:
    """Whether an SPDX expression leaves a way that is allowed.

    >>> allowed("LGPL-2.1-only OR BSD-2-Clause"), allowed("(MIT OR GPL-3.0) AND GPL-2.0")
    (True, False)
    >>> allowed("MIT/Apache-2.0"), allowed("Apache-2.0 WITH LLVM-exception"), allowed("")
    (True, True, False)
    """
    words = re.findall(r"[()]|[^()\s]+", expression.replace("/", " OR "))
    may, rest = _any(words, {*ALLOWED, more})
    return may and not rest


def _any(words: list[str], known: set[str]) -> tuple[bool, list[str]]:
    may, rest = _all(words, known)
    while rest[:1] == ["OR"]:
        more, rest = _all(rest[1:], known)
        may |= more
    return may, rest


def _all(words: list[str], known: set[str]) -> tuple[bool, list[str]]:
    may, rest = _one(words, known)
    while rest[:1] == ["AND"]:
        more, rest = _one(rest[1:], known)
        may &= more
    return may, rest


def _one(words: list[str], known: set[str]) -> tuple[bool, list[str]]:
    if not words:
        return False, []
    if words[0] == "(":
        may, rest = _any(words[1:], known)
        return may and rest[:1] == [")"], rest[1:]
    rest = words[3:] if words[1:2] == ["WITH"] else words[1:]  # an exception only ever allows more
    return words[0] in known, rest


def of_python() -> Iterator[tuple[str, str]]:
    """(name, SPDX expression or what is in its place) of what is installed."""
    for package in metadata.distributions():
        about = package.metadata
        results = [about.get("License-Expression"), about.get("License")]
        named = [
            c.rpartition(" :: ")[2] for c in about.get_all("Classifier") or () if "License" in c
        ]
        reports = [BY_WORDS.get(text, text) for text in (*results, *named) if text]
        readable = [text for text in reports if len(text) < 100 and allowed(text, "MPL-2.0")]
        yield about["Name"].lower(), (readable or reports or [""])[0]


def of_rust() -> Iterator[tuple[str, str]]:
    """(name, SPDX expression) of every crate that is not ours."""
    stdout = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    host = re.findall(r"^host: (\S+)", stdout, re.MULTILINE)[0]
    words = ["cargo", "metadata", "--locked", "--all-features", "--format-version", "1"]
    done = subprocess.run(
        [*words, "--filter-platform", host], cwd=ROOT, capture_output=True, text=True, check=True
    )
    table = json.loads(done.stdout)
    built = {node["id"] for node in table["resolve"]["nodes"]}
    for package in table["packages"]:
        if package["source"] and package["id"] in built:
            yield package["name"], package["license"] or ""


def main() -> int:
    count, wrong = 0, []
    for name, expression in (*of_python(), *of_rust()):
        count += 1
        if not allowed(expression, ALLOWED_TO_DEVELOP.get(name, "")):
            wrong.append((name, " ".join(expression.split())[:60] or "nothing"))
    for name, text in wrong:
        print(
            f"error: {name} says '{text}' of its licence, which is not allowed here\n"
            "  at: scripts/licences.py\n"
            "  fix: do without it, or read its licence and write it down there",
            file=sys.stderr,
        )
    if not wrong:
        print(f"licences: {count} packages, all allowed", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
