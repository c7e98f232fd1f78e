"""A search service: Xapian, an index of this machine's own texts, and queries with their answers.

The ten best passages of each query are computed a second time, here, before they are kept as
answers: so neither index nor program can be wrong without being noticed. Xapian 1.4 stops looking
where it thinks that nothing better can come, and about once in a thousand queries it is wrong by
one passage: such a query is left out, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sojourn.install import answers, cpp, ranking, texts
from sojourn.install.debs import Deb
from sojourn.install.part import Part

NAME = "xapian"
PASSAGES = 80_000
QUERIES = 1_000
SPARE = 50  # one in so many may not agree
LINE = 100  # bytes of one passage in an answer: number, weight, and how it begins
NUMBER, WEIGHT = slice(0, 8), slice(9, 18)


def make(unpacked: Path, into: Path) -> Mapping[str, str]:
    """Compile the program, index the passages, and hold its answers against our own."""
    return made(unpacked, into, texts.corpus(PASSAGES), QUERIES)


def made(unpacked: Path, into: Path, corpus: texts.Corpus, count: int) -> Mapping[str, str]:
    """The same, of a corpus and so many queries."""
    program = cpp.compiled("xapian.cpp", unpacked, into, libraries=("xapian",))
    passages = unpacked / "passages.txt"
    answers.keep(unpacked, passages.name, corpus.passages)
    cpp.ran((program, "--index", passages, "--data", into), cwd=into)
    drawn = ranking.queries(corpus.passages, count + count // SPARE + 1)
    answers.keep(into, answers.INPUTS, drawn)
    message = answers.answers_of(program, into)
    weighed = ranking.Ranking(corpus.passages, " ".join(drawn).split())
    pairs = list(zip(drawn, message, strict=True))
    right = [pair for pair in pairs if weighed.explains(pair[0], ranked(pair[1]))]
    if len(right) < count:
        wrong = next(pair for pair in pairs if pair not in right)
        raise ValueError(f"the best passages for '{wrong[0]}' are not {wrong[1][:LINE]}…")
    answers.keep(into, answers.INPUTS, [query for query, _ in right[:count]])
    answers.keep(into, answers.ANSWERS, [text for _, text in right[:count]])
    left = len(pairs) - len(right)
    return {
        "corpus": corpus.text,
        "queries": f"{count}, each answer computed twice; {left} of {len(pairs)} did not agree",
    }


def ranked(text: str) -> list[tuple[int, float]]:
    """Number and weight of each passage in an answer."""
    lines = [text[at : at + LINE] for at in range(0, len(text), LINE)]
    return [(int(line[NUMBER]), float(line[WEIGHT])) for line in lines]


PART = Part(
    name=NAME,
    about="a search service (TailBench's xapian): an index of this machine's texts, compiled here",
    version=cpp.version("xapian.cpp", __file__, texts.__file__, ranking.__file__),
    debs=(Deb(package="libxapian30", has_more=True), Deb(package="libxapian-dev")),
    builds=cpp.PACKAGE,
    make=make,
)
