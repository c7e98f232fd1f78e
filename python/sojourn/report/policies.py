"""What a page may do: run scripts that are known by their digests, fetch nothing."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from hashlib import sha256

ANY_STYLE = "'unsafe-inline'"  # figures set styles of their own elements


def digest_of(text: str) -> str:
    """SHA-256 in base64, as a policy has it."""
    return base64.b64encode(sha256(text.encode()).digest()).decode()


def allowing(
    scripts: Iterable[str], *, styles: Iterable[str] | None = None, own: Iterable[str] = ()
) -> str:
    """The policy of a page.

    Args:
        scripts: digests of what it may run.
        styles: the same of its style sheets; None: any style.
        own: what a page of a server may do there, such as `connect-src` or `form-action`.

    >>> allowing(["aa="], styles=["bb="], own=["connect-src"])[:68]
    "default-src 'none'; script-src 'sha256-aa='; style-src 'sha256-bb=';"
    """
    run = " ".join(f"'sha256-{digest}'" for digest in scripts)
    look = ANY_STYLE if styles is None else " ".join(f"'sha256-{digest}'" for digest in styles)
    allowed = dict.fromkeys(own, "'self'")
    rules = {
        "default-src": "'none'",
        "script-src": run,
        "style-src": look,
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
        **allowed,
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())
