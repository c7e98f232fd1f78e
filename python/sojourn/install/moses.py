"""A translation service: Apertium's pipeline from English to Spanish, each stage a program.

It represents TailBench's moses in what it does. It goes by rules and not by statistics: it has no
table of phrases in memory, and so not moses' hunger for memory bandwidth.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn.install import answers, cpp, sentences
from sojourn.install.debs import Deb
from sojourn.install.part import Part

NAME = "moses"
MODE = "eng-spa"
SENTENCES = 256
BY_HAND = 8  # sentences that are also translated by programs started for them alone
SEED = 4
BIN, DATA, STAGES = "bin", "data", "stages.txt"
FLUSH = "-z"  # write out what there is at a NUL


def make(unpacked: Path, into: Path) -> Mapping[str, str]:
    """Compile the program, keep the stages with their files, and translate every sentence."""
    program = cpp.compiled("moses.cpp", unpacked, into)
    stages = stored_stages(unpacked, into)
    answers.keep(into, STAGES, [shlex.join(stage) for stage in stages])
    english = [f"{text[0].upper()}{text[1:]}." for text in sentences.plain(SENTENCES, SEED)]
    answers.keep(into, answers.INPUTS, english)
    spanish = answers.answers_of(program, into)
    for nth in range(0, SENTENCES, SENTENCES // BY_HAND):
        wanted = by_hand(into, stages, english[nth])
        if spanish[nth] != wanted:
            raise ValueError(f"'{english[nth]}' is '{spanish[nth]}', by hand '{wanted}'")
    answers.keep(into, answers.ANSWERS, spanish)
    return {
        "stages": f"{len(stages)}: {', '.join(stage[0] for stage in stages)}",
        "sentences": f"{SENTENCES}, {sum(map(len, english)) / SENTENCES:.0f} characters on average",
    }


def stored_stages(unpacked: Path, into: Path) -> list[list[str]]:
    """Keep programs and files of all stages; each as words, of which @NAME is a kept file.

    Raises:
        ValueError: the packages have no such pipeline, or not all of it.
    """
    mode = unpacked / f"usr/share/apertium/modes/{MODE}.mode"
    if not mode.is_file():
        raise ValueError(f"no file {mode.relative_to(unpacked)} in the packages")
    for folder in (BIN, DATA):
        (into / folder).mkdir()
    stages = []
    for line in mode.read_text(encoding="utf-8").split("|"):
        words = [word for word in shlex.split(line) if word != "$2"]
        words = ["-g" if word == "$1" else word for word in words]
        name = Path(words[0]).name
        shutil.copy(unpacked / "usr/bin" / name, into / BIN / name)
        files = [_file(word, unpacked, into) for word in words[1:]]
        stages.append([name, FLUSH, *files])
    return stages


def _file(word: str, unpacked: Path, into: Path) -> str:
    """A word of a stage; a file that it names is stored, and named as such."""
    if not word.startswith("/"):
        return word
    path = unpacked / word.removeprefix("/")
    shutil.copyfile(path, into / DATA / path.name)
    return f"@{DATA}/{path.name}"


def by_hand(into: Path, stages: Sequence[Sequence[str]], sentence: str) -> str:
    """What the stages make of one sentence, each started for it alone, one after the other.

    Raises:
        ValueError: one of them fails.
    """
    env = cpp.surroundings(into / cpp.LIBRARIES)
    text = f"{sentence}\n".encode()
    for name, *words in stages:
        files = [str(into / word[1:]) if word.startswith("@") else word for word in words]
        argv = (str(into / BIN / name), *(word for word in files if word != FLUSH))
        text = cpp.ran(argv, cwd=into, env=env, inputs=text)
    return text.decode().rstrip("\n")


PART = Part(
    name=NAME,
    about="a translation service (TailBench's moses): Apertium from English to Spanish",
    version=cpp.version("moses.cpp", __file__, sentences.__file__),
    debs=tuple(
        Deb(package=name, has_more=True)
        for name in ("apertium-eng-spa", "apertium", "lttoolbox", "apertium-lex-tools")
    ),
    builds=cpp.PACKAGE,
    make=make,
)
