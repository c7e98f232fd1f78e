"""Secrets in the query of a target are refused, because the record has it."""

from __future__ import annotations

import re

from sojourn.errors import SpecFault

#: Values that are no secret whatever their name is, and values that are one under every name.
PUBLIC = re.compile(r"\d*|true|false|yes|no|on|off", re.IGNORECASE)  # TOKEN_LIMIT=100
KNOWN = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:gh[pousr]_|xox[abp]-|AKIA|eyJ[\w-]+\.eyJ)")
# As in the generator's `job/secrets.rs`; the second only with a long value.
_ASKED = re.compile(r"token|secret|passw(?:or)?d|api-?key|credential|access-key", re.IGNORECASE)
_DOUBTFUL = re.compile(
    r"key|auth|authorization|sig|signature|x-amz-signature|session|sessionid|pwd", re.IGNORECASE
)
_LONG = 16  # letters


def check_query(text: str, *, at: str) -> None:
    """Refuse a target or path with a secret behind its `?` or `#`: the record has the target.

    Raises:
        SpecFault: a part of it looks like a secret; its value is in no message.
    """
    _, *parts = re.split(r"[?#&;]", text) if re.search(r"[?#]", text) else [text]
    for part in parts:
        name, _, value = part.partition("=")
        if _is_asked(name, value) or KNOWN.search(part):
            raise SpecFault(
                f"'{name[:60]}' in the query looks like a secret, and the record has the target",
                at=at,
                fix='send it as a header that names its place: header = ["X-Api-Key: env:VARIABLE"]'
                "; or write the path into paths_file, which no record has",
            )


def _is_asked(name: str, value: str) -> bool:
    if PUBLIC.fullmatch(value) or "{}" in value or "{item}" in value:
        return False
    name = name.replace("_", "-").replace(".", "-")
    is_long = len(value) >= _LONG and _DOUBTFUL.fullmatch(name) is not None
    return is_long or _ASKED.search(name) is not None
