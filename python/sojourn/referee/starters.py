"""What starts a load tool: shells, and programs that run another one.

Only what is known to start its operands is looked through. Any other program may do with the words
`hey -q 5` whatever it wants, such as start it twice.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

Words = Sequence[str]
SHELLS = frozenset(("sh", "bash", "dash", "ash", "zsh", "ksh"))
#: They take options and plain numbers before the program that they start.
STARTERS = frozenset(
    (
        *("!", "{", "if", "then", "else", "while", "until", "do", "command", "exec", "time"),
        *("catchsegv", "cgexec", "chrt", "chroot", "doas", "dumb-init", "env", "gosu"),
        *("ionice", "ltrace", "nice", "nohup", "nsenter", "numactl", "perf", "prlimit", "setsid"),
        *("stat", "record", "stdbuf", "strace", "su-exec", "sudo", "systemd-run", "taskset"),
        *("timeout", "tini", "unbuffer", "unshare"),
    )
)
#: They take names of their own before it, such as that of an image or a network namespace.
NAMING = frozenset(
    (
        *("bun", "bunx", "deno", "docker", "flatpak", "ip", "kubectl", "nerdctl", "node", "npm"),
        *("npx", "oc", "pnpm", "podman", "script", "snap", "ssh", "yarn"),
    )
)
#: What they start has other files, or another folder.
ELSEWHERE = frozenset(
    (
        *("chroot", "docker", "flatpak", "kubectl", "nerdctl", "nsenter", "oc", "podman", "snap"),
        *("ssh", "systemd-run", "unshare", "--chdir", "-C"),
    )
)
MOVES = frozenset(("cd", "pushd"))
LOOPS = frozenset(("for", "while", "until", "xargs", "parallel", "watch"))
LONGEST = 100_000  # letters of a shell's command that are looked at
SEPARATORS = frozenset(";&|()\n")
_OWN = re.compile(r"-.*|[\w.]+=.*|\d[\d.,:x-]*[a-fsmhd]*|0x[\da-f]+", re.DOTALL)
_COMMAND = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*")


@dataclass(frozen=True, slots=True)
class Started:
    """A program that is known, and its words.

    Attributes:
        tool: its name.
        words: behind it.
        is_looped: it is within a loop of a shell, which may start it several times.
        is_elsewhere: names of files in its words are not ours.
    """

    tool: str
    words: tuple[str, ...]
    is_looped: bool = False
    is_elsewhere: bool = False


def started(argv: Words, tools: Collection[str], depth: int = 4) -> list[Started]:
    """Programs among `tools` that a command line starts.

    >>> started(["sudo", "-n", "taskset", "-c", "1", "hey", "-q", "5"], ["hey"])[0].words
    ('-q', '5')
    >>> started(["./twice", "hey", "-q", "5"], ["hey"])
    []
    """
    is_naming = False
    for at, word in enumerate(argv):
        name = PurePosixPath(word.partition(":")[0]).name  # of an address or image what is first
        is_elsewhere = any(word.partition("=")[0] in ELSEWHERE for word in argv[:at])
        if name in tools:
            return [Started(name, tuple(argv[at + 1 :]), is_elsewhere=is_elsewhere)]
        if name in SHELLS:
            every = _of_shell(argv[at + 1 :], tools, depth)
            return [replace(one, is_elsewhere=one.is_elsewhere or is_elsewhere) for one in every]
        is_naming |= name in NAMING
        before = argv[at - 1] if at else ""
        is_passed = name in STARTERS or is_naming or _OWN.fullmatch(word)
        if not (is_passed or (at and before.startswith("-") and before != "--")):
            return []
    return []


def _of_shell(words: Words, tools: Collection[str], depth: int) -> list[Started]:
    """Those in the command behind `-c`; a script in a file is not read."""
    at = next((at for at, word in enumerate(words) if _COMMAND.fullmatch(word)), None)
    operands = [] if at is None else [w for w in words[at + 1 :] if not w.startswith("-")]
    if not operands or depth <= 0:
        return []
    gathered: list[Started] = []
    is_looped = has_moved = False
    for command in commands(operands[0][:LONGEST]):
        is_looped |= not LOOPS.isdisjoint(command)
        has_moved |= not MOVES.isdisjoint(command)
        gathered += [
            replace(
                one,
                is_looped=is_looped or one.is_looped,
                is_elsewhere=has_moved or one.is_elsewhere,
            )
            for one in started(command, tools, depth - 1)
        ]
    return gathered


def commands(script: str) -> Iterator[list[str]]:
    """The commands of a shell's script, as words; none where its quotes do not match.

    >>> list(commands("cat 'a b' | wrk2 -R 5 http://x/#y & # -R 7"))
    [['cat', 'a b'], ['wrk2', '-R', '5', 'http://x/#y']]
    """
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    try:
        tokens = list(lexer)
    except ValueError:
        return
    command: list[str] = []
    is_comment = False
    for token in (*tokens, "\n"):
        if token and SEPARATORS.issuperset(token):
            is_comment &= "\n" not in token
            if command and not is_comment:
                yield command
                command = []
        elif is_comment or token.startswith("#"):
            is_comment = True
        else:
            command.append(token)
