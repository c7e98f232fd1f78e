"""Text and JSON on stdout."""

from __future__ import annotations

import json
from typing import Any

import typer

from sojourn.text.plain_values import plain
from sojourn.visible import visible


def put_json(value: Any) -> None:
    """One JSON document on stdout."""
    put(json.dumps(plain(value), indent=2, ensure_ascii=False))


def put(text: str, *, has_end: bool = True) -> None:
    """Text on stdout, what would control the terminal spelled out."""
    typer.echo(visible(text), nl=has_end)


def put_page(page: str) -> None:
    """What `report.text` made: it spells that out itself, before it paints the verdicts."""
    typer.echo(page)
