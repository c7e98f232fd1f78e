"""Secrets in the query of a target are refused, because the record has it."""

from __future__ import annotations

import re

from sojourn.errors import SpecFault

#: Values that are no secret whatever their name is, and values that are one under every name.
PUBLIC = re.compile(r"\d*|true|false|yes|no|on|off", re.IGNORECASE)  # TOKEN_LIMIT=100
KNOWN = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:gh[pousr]_|github_pat_|glpat-|npm_\w{20}|xox[abp]-|AKIA|"
    r"AIza[\w-]{30}|[rs]k_live_|sk-(?:ant|proj)-|eyJ[\w-]+\.eyJ)|//hooks\.slack\.com/services/\w"
)
# As in the generator's `job/secrets.rs`; the second only with a long value.
_ASKED = re.compile(
    r"token|secret|passw(?:or)?d|api-?key|credential|(?:access|subscription|functions)-key|jwt|bearer",
    re.IGNORECASE,
)
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


def shown(url: str) -> str:
    """A URL that a server names, for messages: without the values that look like secrets.

    >>> shown("https://me:pw@h/a?b=c&token=xyz#d")
    'https://me:…@h/a?b=c&token=…#d'
    """
    text, *rest = re.split(r"([?#&;])", hidden(url))
    for part in rest:
        name, mark, value = part.partition("=")
        is_secret = bool(mark) and (_is_asked(name, value) or KNOWN.search(part) is not None)
        text += f"{name}=…" if is_secret else part
    return text


def hidden(text: str) -> str:
    """A target without the password that it may have, for messages.

    >>> hidden("redis://:secret@h"), hidden("http://me:sec//ret@h/"), hidden("http://me@h")
    ('redis://:…@h', 'http://me:…@h/', 'http://me@h')
    """
    before, mark, behind = text.rpartition("@")
    scheme, slashes, who = before.partition("//")
    if not slashes:
        scheme, who = "", before
    name, colon, _ = who.partition(":")
    return f"{scheme}{slashes}{name}:…@{behind}" if mark and colon else text


def _is_asked(name: str, value: str) -> bool:
    if PUBLIC.fullmatch(value) or "{}" in value or "{item}" in value:
        return False
    name = name.replace("_", "-").replace(".", "-")
    is_long = len(value) >= _LONG and _DOUBTFUL.fullmatch(name) is not None
    return is_long or _ASKED.search(name) is not None
