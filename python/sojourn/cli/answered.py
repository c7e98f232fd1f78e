"""A record's answer as `sojourn show` prints it: computed once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.cli.plain import put, put_page
from sojourn.cli.terminal_width import USUAL, width
from sojourn.text.plain_values import document, document_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sojourn.findings.findings import Findings
    from sojourn.store import Texts

JSON, ANSWER = "json", "answer.json"


def is_put(texts: Texts, *, as_json: bool) -> bool:
    """Print the answer as it was computed before; False if it was not."""
    text = texts.load(JSON if as_json else _form(*_look()))
    if text is not None:
        _put(text, as_json=as_json)
    return text is not None


def put_anew(path: Path, findings: Findings, texts: Texts, *, as_json: bool) -> None:
    """Print the answer, and keep it."""
    look = _look()
    text = _json(findings) if as_json else _page(path, findings, *look)
    _put(text, as_json=as_json)
    texts.keep(JSON if as_json else _form(*look), text)


def keep_all(path: Path, findings: Findings, texts: Texts) -> None:
    """Keep the answer as it is asked for most: in this terminal, in a pipe, and as JSON."""
    from sojourn.questions import flat

    whole = document_within(flat(findings), texts.most)
    if whole is not None:
        texts.keep(JSON, whole)
    for look in {_look(), (USUAL, False)}:
        texts.keep(_form(*look), _page(path, findings, *look))


def written(texts: Texts, at: Path, *, has_pictures: bool) -> list[Path]:
    """Files of the report as it was written before; [] where anything is not as it was then."""
    from sojourn.store import answers

    text = texts.load(_report(at, has_pictures=has_pictures))
    table: dict[str, str] = json.loads(text) if text else {}
    if not all(answers.stamp(Path(file)) == known for file, known in table.items()):
        return []
    return [Path(file) for file in table if Path(file).name != ANSWER]


def keep_written(
    texts: Texts, at: Path, pages: Sequence[Path], *, has_pictures: bool, has_answer: bool
) -> None:
    """Keep which files a report wrote, and the answer beside them."""
    from sojourn.store import answers

    files = [*pages, *([at / ANSWER] if has_answer else [])]
    table = {str(file): answers.stamp(file) for file in files}
    texts.keep(_report(at, has_pictures=has_pictures), json.dumps(table))


def _report(at: Path, *, has_pictures: bool) -> str:
    return f"report {at.absolute()} {has_pictures}"


def _put(text: str, *, as_json: bool) -> None:
    if as_json:
        put(text)
    else:
        put_page(text)


def _look() -> tuple[int, bool]:
    """Columns of the terminal, and whether it has colours."""
    return width(), sys.stdout.isatty()


def _form(width: int, is_coloured: bool) -> str:  # noqa: FBT001 - a look is its two parts
    return f"text {width} {is_coloured}"


def _json(findings: Findings) -> str:
    from sojourn.questions import flat

    return document(flat(findings))


def _page(path: Path, findings: Findings, width: int, is_coloured: bool) -> str:  # noqa: FBT001
    from sojourn import pipeline

    return pipeline.text_of(path, findings, width, is_coloured=is_coloured)
