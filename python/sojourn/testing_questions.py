"""All questions, for tests of what is below them and plays whole studies; only tests look here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sojourn.questions import PLANS, answers, catalogue, parts, readers

__all__ = ["PLANS", "answers", "catalogue", "parts", "readers", "section_type"]


def section_type(question: str, name: str) -> Any:
    """A type of what a question finds, by its name: for findings that are made up."""
    return getattr(import_module(f"sojourn.questions.{question}.judge"), name)
