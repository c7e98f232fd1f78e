"""`python -m sojourn.schema`: write `schema/*.json` from the code; `--check` only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from sojourn.errors import Exit, Fault
from sojourn.schema import documents

HERE = Path(__file__).parent


def main() -> int:
    """Write what differs; with `--check` say so and fail instead."""
    is_check = "--check" in sys.argv[1:]
    try:
        made = {f"{name}.json": documents.text(doc) for name, doc in documents.documents().items()}
    except Fault as fault:
        sys.stderr.write(f"{fault}\n")
        return fault.exit
    gone = sorted({path.name for path in HERE.glob("*.json")} - set(made))
    stale = [name for name, text in made.items() if _content(HERE / name) != text]
    if is_check and (stale or gone):
        names = ", ".join(sorted({*stale, *gone}))
        sys.stderr.write(
            f"error: the contract is stale: {names}\n  at: {HERE}\n  fix: make schema, commit\n"
        )
        return Exit.VIOLATED
    for name in stale:
        (HERE / name).write_text(made[name], encoding="utf-8")
        sys.stdout.write(f"{HERE / name}\n")
    for name in gone:
        (HERE / name).unlink()
    return Exit.OK


def _content(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
