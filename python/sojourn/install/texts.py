"""Passages of text that this machine has: man pages, licences, what packages say of themselves.

Nothing is fetched. Two machines with the same files have the same passages; what is in them is told
by a digest. A machine without documentation gets passages of made-up words, drawn by Zipf's law.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDERS = ("usr/share/common-licenses", "usr/share/doc", "usr/share/man")
FILE_BYTES_MAX = 400_000
WORD = re.compile(r"[a-z]{2,24}")
ROFF = re.compile(r"^[.'].*$|\\f.|\\\(..|\\.", re.MULTILINE)
SHORTEST, LONGEST = 32, 128  # words of a passage
SEED = 1
VOCABULARY = 20_000  # of made-up words
SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Passages, each of words apart by spaces, and how many of them were drawn."""

    passages: tuple[str, ...]
    drawn: int

    @property
    def text(self) -> str:
        """What it is, for people."""
        digest = hashlib.sha256("\n".join(self.passages).encode()).hexdigest()[:12]
        words = sum(passage.count(" ") + 1 for passage in self.passages)
        own = len(self.passages) - self.drawn
        parts = [f"{own} of this machine's man pages and documents"] if own else []
        parts += [f"{self.drawn} drawn by Zipf's law"] if self.drawn else []
        return f"{len(self.passages)} passages ({', '.join(parts)}), {words} words, {digest}"


def corpus(wanted: int, root: Path = Path("/")) -> Corpus:
    """So many passages: of this machine's texts, and drawn where these are too few."""
    lengths = random.Random(SEED)  # noqa: S311  # not a secret
    results = tuple(itertools.islice(_distinct(_passages(_words(root), lengths)), wanted))
    drawn = wanted - len(results)
    made = itertools.islice(_passages(_zipf(), lengths), drawn)
    return Corpus(passages=(*results, *made), drawn=drawn)


def _words(root: Path) -> Iterator[str]:
    """Words of all texts, in an order of files that mixes folders and is the same everywhere."""
    files = [path for name in FOLDERS for path in (root / name).rglob("*") if _is_text(path)]
    for path in sorted(files, key=lambda path: _lot(str(path.relative_to(root)))):
        yield from WORD.findall(ROFF.sub(" ", _read(path)).lower())


def _is_text(path: Path) -> bool:
    name = path.name.removesuffix(".gz")
    is_named = name.lower().startswith(("copyright", "readme", "changelog", "news", "faq", "howto"))
    is_man = len(path.parts) > 2 and "man" in path.parts and path.parent.name.startswith("man")
    is_plain = name.endswith(".txt") or "common-licenses" in path.parts
    return (is_named or is_man or is_plain) and not path.is_symlink() and path.is_file()


def _lot(name: str) -> bytes:
    return hashlib.sha256(name.encode(errors="replace")).digest()


def _read(path: Path) -> str:
    """The text of a file, unpacked; nothing if it cannot be read."""
    try:
        with path.open("rb") as packed:
            file = gzip.GzipFile(fileobj=packed) if path.suffix == ".gz" else packed
            return file.read(FILE_BYTES_MAX).decode(errors="replace")
    except (OSError, EOFError, zlib.error):
        return ""


def _zipf() -> Iterator[str]:
    """Made-up words without end: that of rank r as often as 1 / r."""
    drawn = random.Random(SEED)  # noqa: S311  # not a secret
    words = [
        "".join(part)
        for part in itertools.islice(itertools.product(SYLLABLES, repeat=3), VOCABULARY)
    ]
    drawn.shuffle(words)
    summed = list(itertools.accumulate(1.0 / rank for rank in range(1, VOCABULARY + 1)))
    while True:
        yield from drawn.choices(words, cum_weights=summed, k=1000)


def _passages(words: Iterator[str], lengths: random.Random) -> Iterator[str]:
    while (
        len(some := list(itertools.islice(words, lengths.randint(SHORTEST, LONGEST)))) >= SHORTEST
    ):
        yield " ".join(some)


def _distinct(passages: Iterator[str]) -> Iterator[str]:
    """Each once: packages repeat their licences."""
    seen: set[bytes] = set()
    for passage in passages:
        key = hashlib.blake2b(passage.encode(), digest_size=8).digest()
        if key not in seen:
            seen.add(key)
            yield passage
