"""Targets that were typed, refused by the option that has them."""

from __future__ import annotations

from collections.abc import Iterable

from sojourn.errors import SpecFault

#: Words of a target that are filled in when a command is started, with what stands for them here.
WORDS = {"host": "127.0.0.1", "port": "1", "threads": "1"}


def check(text: str, *, at: str) -> None:
    """Refuse a URL, or what a command's service is asked, in which there is a mistake.

    Args:
        text: the target; `{host}`, `{port}` and `{threads}` stand for what is not known yet.
        at: the option that has it.

    Raises:
        SpecFault: it is not a target, or it does not say which protocol is spoken.

    >>> check("redis://{host}:{port}", at="--target")
    """
    from sojourn.services.clients import where

    filled = text
    for word, value in WORDS.items():
        filled = filled.replace(f"{{{word}}}", value)
    if not where.parse(filled, at=at).scheme:
        fix = "write http://{host}:{port}/ or redis://{host}:{port}"
        raise SpecFault(f"'{text}' says no protocol", at=at, fix=fix)


def check_all(typed: Iterable[tuple[str, str]]) -> None:
    """The same of targets behind the options that have them; SpecFault of the first mistake."""
    for option, text in typed:
        check(text.strip(), at=option)
