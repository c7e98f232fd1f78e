"""What a program finds in its environment, and where each value comes from.

A study is stored in its record, and a record is there to be shown. So a value that is a secret is
named by its place, `NAME=env:VARIABLE` or `NAME=file:PATH`, or is in `environment_file`, and is
read when the program is started. What looks like a secret and is in the study is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn import disk
from sojourn.errors import HostFault, SpecFault
from sojourn.services.clients.queried import KNOWN, PUBLIC

ENV, FILE = "env:", "file:"
FIX = "write NAME=env:VARIABLE or NAME=file:PATH: the value is read there and not stored"
VALUE_BYTES_MAX = 128 << 10  # MAX_ARG_STRLEN: the longest text of an environment
SHOWN = "…"  # in place of every value
_ASSIGNED = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)
_SECRETS = re.compile(
    r"(?:^|_)(?:KEY|KEYS|TOKEN|TOKENS|SECRET|SECRETS|PASS|PASSWD|PASSWORD|PASSPHRASE|PWD|CREDENTIALS?|"
    r"AUTH|AUTHORIZATION|COOKIE|APIKEY|DSN|SAS|PAT|JWT|BEARER|CREDS?)(?:$|_)|PASSWORD|SECRET|APIKEY|CREDENTIAL",
    re.IGNORECASE,
)
_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w-]*)(?:=(?P<value>.*))?", re.DOTALL)
_HIDDEN = re.compile(
    r"(?:^|-)(?:password|passwd|passphrase|requirepass|masterauth|secret|token|api-?key)(?:$|-)",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[/.~{-].*|(?:env|file):.*|none|null|auto|default|", re.DOTALL)  # of an option
#: A part of a connection string, such as `Server=h;Password=x` or `host=h password=x`.
_IN_STRING = re.compile(
    r"(?:^|[;&?\s])(?:password|passwd|pwd|secret|(?:shared)?accesskey|accountkey|"
    r"sharedaccesssignature)\s*=\s*['\"]?[^;&\s'\"]",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"://[^/?#\s]*:[^/?#\s]*@")  # user and password before a host


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One variable.

    Attributes:
        text: its value, or where that lies.
        place: "" (it is `text`), `ENV` or `FILE`.
        at: which parameter says it.
        is_secret: whether it does not stand in the study.
    """

    name: str
    text: str
    place: str
    at: str
    is_secret: bool

    def read(self) -> str:
        """Its value now.

        Raises:
            HostFault: there is none where it should be; the value is in no message.
        """
        if not self.place:
            return self.text
        try:
            value = os.environ[self.text] if self.place == ENV else _text(Path(self.text))
        except KeyError:
            raise self._fault(f"the variable {self.text} is not set") from None
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise self._fault(f"{self.text} cannot be read: {why}") from None
        if "\0" in value:
            raise self._fault(f"what lies at {self.text} has a zero in it")
        return value

    def _fault(self, what: str) -> HostFault:
        fix = f"see that whoever runs sojourn has it; {FIX}"
        return HostFault(f"{self.name} has no value: {what}", at=self.at, fix=fix)


def variables(words: Sequence[str], file: str, *, at: str) -> tuple[Variable, ...]:
    """Those that a service gives its program; of two of one name the later.

    Args:
        words: `NAME=VALUE` as the study has them.
        file: with more of them, a line each; its values are secrets. "": there is none.
        at: the service, for messages.

    Raises:
        SpecFault: one is none, or is a secret that is in the study.
        HostFault: one has no value on this machine, or the file cannot be read.
    """
    results = [_of_file(line, file, f"{at}, environment_file") for line in _lines(file, at)]
    results += [_of_study(word, f"{at}, environment") for word in words]
    for one in results:
        one.read()  # a value that is not there is found before anything is started
    return tuple({one.name: one for one in results}.values())


def check_words(words: Sequence[str], *, at: str) -> None:
    """Refuse a command line in which a secret stands: all on this machine see it, and the record.

    Raises:
        SpecFault: an option has one, or a word is one; the value is in no message.
    """
    for nth, word in enumerate(words):
        match = _OPTION.fullmatch(word)
        name = match["name"].replace("_", "-") if match else ""
        value = match["value"] if match else None
        if match and value is None:
            value = words[nth + 1] if nth + 1 < len(words) else ""
        is_set = bool(_HIDDEN.search(name)) and not _is_plain(value or "")
        if is_set or _holds_secret(word):
            raise SpecFault(
                f"{f'--{name}' if is_set else f'word {nth + 1}'} looks like a secret, and a "
                "command line is seen by all, and the record has it",
                at=at,
                fix='give it as environment = "NAME=env:VARIABLE", or in a file of the program',
            )


def _is_plain(value: str) -> bool:
    """Whether a value is a number, a switch, or the place of something."""
    return bool(PUBLIC.fullmatch(value) or _PLAIN.fullmatch(value))


def shown(inputs: Sequence[Variable]) -> str:
    """Their names, for the record: no value is there."""
    return " ".join(f"{one.name}={SHOWN}" for one in inputs)


def _of_study(word: str, at: str) -> Variable:
    match = _ASSIGNED.fullmatch(word)
    if match is None:  # it may be half of a secret: it is not shown
        raise SpecFault("a word is no NAME=VALUE", at=at, fix="quote values that have spaces")
    name, value = match["name"], match["value"]
    for place in (ENV, FILE):
        if value.startswith(place):
            text = value.removeprefix(place)
            return Variable(name=name, text=text, place=place, at=at, is_secret=True)
    if _is_secret(name, value):
        raise SpecFault(
            f"{name} looks like a secret, and the record has a copy of the study", at=at, fix=FIX
        )
    return Variable(name=name, text=value, place="", at=at, is_secret=False)


def _of_file(line: str, file: str, at: str) -> Variable:
    match = _ASSIGNED.fullmatch(line)
    if match is None:
        raise SpecFault(f"{file} has a line that is no NAME=VALUE", at=at, fix="# begins a comment")
    return Variable(name=match["name"], text=match["value"], place="", at=at, is_secret=True)


def _is_secret(name: str, value: str) -> bool:
    is_named = _SECRETS.search(name) is not None and not PUBLIC.fullmatch(value)
    return is_named or _holds_secret(value)


def _holds_secret(text: str) -> bool:
    """Whether a part of a text is a secret by its form, whatever the text's name is."""
    return any(form.search(text) for form in (_IN_URL, _IN_STRING, KNOWN))


def _lines(file: str, at: str) -> list[str]:
    if not file:
        return []
    try:
        lines = _text(disk.with_home(file)).splitlines()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        fix = "give a file that whoever runs sojourn may read"
        raise HostFault(
            f"{file} cannot be read: {why}", at=f"{at}, environment_file", fix=fix
        ) from None
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _text(path: Path) -> str:
    """A short file; without the line feed at its end.

    Raises:
        OSError: it cannot be read.
        ValueError: it is too long, or no text.
    """
    with path.open("rb") as file:
        data = file.read(VALUE_BYTES_MAX + 1)
    if len(data) > VALUE_BYTES_MAX:
        raise ValueError(f"it is longer than {VALUE_BYTES_MAX} bytes")
    try:
        return data.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
