"""How programs read their options.

A reader gets `-x=VALUE` and `--name=VALUE` for each option with a value, however it was written.
What is behind `--`, or behind the first operand of a program that stops there, is no option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_SHORT = re.compile(r"-[^-].*", re.DOTALL)
_NUMBER = re.compile(r"-[\d.]+")
_LEAST = 3  # letters of a long option that are taken for its abbreviation


@dataclass(frozen=True, slots=True, kw_only=True)
class Getopt:
    """As `getopt_long` of glibc: `-R5`, `-nR 5`, `--rate 5`, `--rat=5`; operands anywhere.

    Attributes:
        valued: letters of options behind which a value follows.
        longs: long options that are asked for.
    """

    valued: str
    longs: tuple[str, ...] = ()

    def options(self, words: Sequence[str]) -> list[str]:
        """Options, those with a value as one word."""
        result: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                break
            if word.startswith("--"):
                result.append(self._long(word, rest))
            elif _SHORT.fullmatch(word):
                result += self._bundle(word[1:], rest)
        return result

    def _long(self, word: str, rest: Iterator[str]) -> str:
        name, equals, text = word.partition("=")
        full = [one for one in self.longs if name == one]
        full = full or [
            one for one in self.longs if len(name) >= 2 + _LEAST and one.startswith(name)
        ]
        if len(full) != 1:
            return word
        return f"{full[0]}={text if equals else next(rest, '')}"

    def _bundle(self, letters: str, rest: Iterator[str]) -> Iterator[str]:
        for at, letter in enumerate(letters):
            if letter in self.valued:
                text = letters[at + 1 :] or next(rest, "")
                yield f"-{letter}={text}"
                return
            yield f"-{letter}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoFlags:
    """As Go's package `flag`: `-q 5`, `--q=5`; it stops at the first operand, such as an address.

    Attributes:
        switches: options without a value.
        command: subcommand behind which they are read; "": there is none.
    """

    switches: frozenset[str] = frozenset()
    command: str = ""

    def options(self, words: Sequence[str]) -> list[str]:
        """Options, those with a value as one word, with one dash."""
        if self.command:
            at = words.index(self.command) if self.command in words else len(words)
            words = words[at + 1 :]
        result: list[str] = []
        at = 0
        while at < len(words) and words[at].startswith("-") and words[at] != "--":
            name, equals, text = words[at].removeprefix("-").removeprefix("-").partition("=")
            at += 1
            has_value = at < len(words) and not equals and name not in self.switches
            if has_value and (not words[at].startswith("-") or _NUMBER.fullmatch(words[at])):
                equals, text = "=", words[at]
                at += 1
            result.append(f"-{name}{equals}{text}")
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """As clap, kingpin, cobra and minimist: operands anywhere, and no abbreviations."""

    def options(self, words: Sequence[str]) -> list[str]:
        """The words before `--`, because it ends the options."""
        return list(words[: words.index("--")] if "--" in words else words)


Syntax = Getopt | GoFlags | Plain
PG_VALUED = "bcDfFhjLMpPRstTU"
#: By the name of the program; others are `Plain`.
SYNTAXES: Mapping[str, Syntax] = {
    "wrk": Getopt(valued="cdtsHTR", longs=("--rate",)),
    "wrk2": Getopt(valued="cdtsHTR", longs=("--rate",)),
    "pgbench": Getopt(
        valued=PG_VALUED,
        longs=("--rate", "--builtin", "--file"),
    ),
    "memtier_benchmark": Getopt(
        valued="sSpPoxnctdau", longs=("--rate-limiting", "--clients", "--threads", "--pipeline")
    ),
    "h2load": Getopt(
        valued="nctmiwWHpdrTNDBbfPX",
        longs=("--rps", "--clients", "--rate", "--max-concurrent-streams", "--timing-script-file"),
    ),
    "mutilate": Getopt(valued="sqtKVruTcdiwWDCQUPapl", longs=("--qps", "--depth", "--iadist")),
    "hey": GoFlags(
        switches=frozenset(
            ("h2", "disable-compression", "disable-keepalive", "disable-redirects", "more")
        )
    ),
    "vegeta": GoFlags(
        command="attack",
        switches=frozenset(
            ("chunked", "h2c", "http2", "insecure", "keepalive", "lazy", "session-tickets")
        ),
    ),
    "fortio": GoFlags(
        command="load",
        switches=frozenset(
            (
                *("a", "allow-initial-errors", "calc-qps", "compression", "grpc", "h2"),
                *("halfclose", "health", "http1.0", "https-insecure", "jitter", "k", "keepalive"),
                *("L", "log-errors", "logcaller", "nocatchup", "ping", "quiet"),
                *("sequential-warmup", "stdclient", "uniform"),
            )
        ),
    ),
}


def options(tool: str, words: Sequence[str]) -> list[str]:
    """The options that a tool reads of its words, and words that may hold more of them.

    >>> options("wrk2", ["-LR2k", "http://x/", "--", "-R", "5"])
    ['-L', '-R=2k']
    >>> options("memtier_benchmark", ["--rate=10", "--client", "5"])
    ['--rate-limiting=10', '--clients=5']
    >>> options("hey", ["--q", "5", "http://x/", "-c", "2"])
    ['-q=5']
    """
    every = SYNTAXES.get(tool, Plain()).options(words)
    return [*every, *(word for word in words if is_expanded(word) and word not in every)]


def is_expanded(word: str) -> bool:
    """Whether a shell puts something else in the place of a word, perhaps options."""
    return "$" in word or "`" in word
