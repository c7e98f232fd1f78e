r"""Text of strangers as a terminal may have it: what would control the terminal is spelled out.

Names of processes and folders, records, study files and servers' words may hold escape sequences,
which write the clipboard or hide what is beside them, and letters that turn the order of others.
So each exit to a terminal goes through here (`cli.draw`, `cli.plain`, `report.terminal`), like
those of the native programs through `crates/base/src/visible.rs`.

A letter from U+007F on is spelled as in JSON, so JSON and TOML stay what they were.
"""

from __future__ import annotations

import re
import shlex

#: All controls but tab and line feed, line separators, marks and overrides of direction, halves of
#: surrogate pairs.
_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_IN_TEXT = re.compile(f"[{_CONTROLS}]")
_IN_LINE = re.compile(f"[\\t\\n{_CONTROLS}]")
_ASCII_END = 0x7F


def visible(text: str) -> str:
    r"""A text of lines: tabs and line feeds stay.

    >>> print(visible("a\x1b[2Jb\u202e\x9b"))
    a\x1b[2Jb\u202e\u009b
    """
    return _IN_TEXT.sub(_spelled, text)


def in_line(text: str) -> str:
    """A text in one line, such as a name: a line feed would begin a line that looks like ours."""
    return _IN_LINE.sub(_spelled, text)


def own_command(text: str) -> str:
    """A command line of the lab's that is shown to be copied; "" if it is anything else.

    >>> own_command("sojourn run x --set 'a=b c'"), own_command("sojourn run x; curl x | sh")
    ("sojourn run x --set 'a=b c'", '')
    """
    try:
        words = shlex.split(text)
    except ValueError:
        return ""
    # Quoted as the lab does it, no word of it means anything to a shell; and it is what it looks.
    is_own = words[:1] == ["sojourn"] and shlex.join(words) == text and in_line(text) == text
    return text if is_own else ""


def _spelled(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < _ASCII_END else f"\\u{number:04x}"
