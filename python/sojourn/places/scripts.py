"""Which script an interpreter runs: processes named `python` are known by it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_INTERPRETER = re.compile(r"(python|node|nodejs|java|perl|ruby|php|bash|dash|sh)[0-9.]*")
_WITH_VALUE = {"-X", "-W", "-cp", "-classpath", "--class-path", "-r", "--require"}
_NAMES_IT = {"-m", "-jar"}  # the next word is the module or archive
_HAS_TEXT = {"-c", "-e", "--eval"}  # the program is the next word, and has no name
MOST = 60  # letters of a name; a command line may be any text


def script(words: Sequence[str]) -> str:
    """The name of the script of a command line, without its folder; "" if it is no interpreter.

    No other word is shown, because command lines hold passwords.

    >>> script(["python3.11", "-u", "/srv/train.py", "--key", "x"])
    'train.py'
    >>> script(["java", "-Xmx1g", "-jar", "/opt/app.jar"]), script(["node", "-r", "a", "b"])
    ('app.jar', 'b')
    >>> script(["python3", "-m", "http.server"])
    'http.server'
    >>> script(["python3", "-c", "pass"]), script(["nginx", "-g", "x"]), script([])
    ('', '', '')
    """
    if not words or not _INTERPRETER.fullmatch(Path(words[0]).name):
        return ""
    rest = iter(words[1:])
    for word in rest:
        if word in _HAS_TEXT:
            return ""
        if word in _NAMES_IT:
            return Path(next(rest, "")).name[:MOST]
        if word in _WITH_VALUE:
            next(rest, "")
        elif not word.startswith("-"):
            return Path(word).name[:MOST]
    return ""


def of_process(pid: int) -> str:
    """The script that a process runs; "" if it is none, or the process is gone."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return script([word.decode("utf-8", "replace") for word in raw.split(b"\0") if word])
