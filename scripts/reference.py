"""Writes docs/reference from the code; `--check` only says what is stale (exit 1)."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn.cli.kinds import catalogue
from sojourn.errors import Exit
from sojourn.models.replicate import ids

FOLDER = Path(__file__).parent.parent / "docs/reference"
HEAD = "<!-- made by `make docs` from the code; edit the code instead -->\n\n"
MEANING = {
    Exit.OK: "done; the result is valid and the QoS target, if any, is met",
    Exit.VIOLATED: "done and valid; the QoS target is violated, or a comparison regressed",
    Exit.USAGE: "the command line, job or study is wrong, or the machine cannot do it",
    Exit.UNKNOWN: "done, but a self-check failed: the result is unknown and decides nothing",
    Exit.FAILED: "something outside failed: the server, the disk, the kernel",
    Exit.INTERRUPTED: "stopped by a signal; what was measured until then is kept",
}


def pages() -> dict[str, str]:
    """File name → text."""
    return {
        "kinds.md": kinds_page(catalogue()),
        "exit-codes.md": exit_page(),
        "papers.md": papers_page(),
    }


def kinds_page(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    parts = [HEAD + "# Kinds\n\nEverything that has a name in a study or a job.\n"]
    for title, kinds in tables.items():
        parts.append(f"\n## {title}\n")
        parts.extend(kind_text(kind) for kind in kinds)
    return "".join(parts)


def kind_text(kind: Mapping[str, Any]) -> str:
    lines = [f"\n**`{kind['name']}`**: {kind['about']}."]
    if kind.get("usage"):
        lines.append(f"  Written `{kind['usage']}`.")
    if kind.get("level"):
        lines.append(f"  A level is {kind['level']}.")
    if kind.get("needs"):
        lines.append(f"  Needs {', '.join(kind['needs'])}.")
    if kind.get("source"):
        lines.append(f"  Source: {kind['source']}.")
    params = [param_row(param) for param in kind.get("params", ())]
    if params:
        lines += [
            "",
            "| parameter | unit | default | range | what |",
            "|---|---|---|---|---|",
            *params,
        ]
    return "\n".join(lines) + "\n"


def param_row(param: Mapping[str, Any]) -> str:
    cells = [
        f"`{param['name']}`",
        *(str(param.get(key, "")) for key in ("unit", "default", "range", "about")),
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def exit_page() -> str:
    rows = [f"| {code.value} | {code.name.lower()} | {MEANING[code]} |" for code in Exit]
    table = "\n".join(["| code | name | meaning |", "|---|---|---|", *rows])
    return f"{HEAD}# Exit codes\n\nThe same for every program of the lab.\n\n{table}\n"


def papers_page() -> str:
    rows = [f"| {e.id} | {e.about} | {e.state} | {how(e.how)} |" for e in ids()]
    table = "\n".join(["| id | what | state | how, or what it needs |", "|---|---|---|---|", *rows])
    about = (
        "Every figure, table and statement of the three papers by its id, with the command that "
        "gives it. `sojourn replicate --list` prints the same. A study names its ids in the key "
        "`papers`.\n\nL: Leverich and Kozyrakis, EuroSys 2014. C: Chen et al., ISPASS 2017. "
        "P: Pons et al., FGCS 2022."
    )
    return f"{HEAD}# The papers, line by line\n\n{about}\n\n{table}\n"


def how(text: str) -> str:
    """The commands of a list as code."""
    return re.sub(r"(sojourn[^;(]*[^;( ])", r"`\1`", text)


def main() -> int:
    stale = [name for name, text in pages().items() if current(name) != text]
    if "--check" in sys.argv:
        for name in stale:
            print(
                f"error: {name} is stale\n  at: docs/reference\n  fix: make docs", file=sys.stderr
            )
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
    return 0


def current(name: str) -> str:
    path = FOLDER / name
    return path.read_text() if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
