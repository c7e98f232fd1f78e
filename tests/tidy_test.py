"""Plain words, short sentences, short functions: what a reader meets is held to a measure.

Counts are ratchets. A ceiling is what there is now: more fails, and much less fails too, with the
number to which it can be lowered. Nothing here starts a program; one pass over the texts.
"""

from __future__ import annotations

import ast
import builtins
import gc
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# fmt: off
PAGES = sorted(
    page
    for pattern in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/howto/*.md",
                    "docs/decisions/*.md", "docs/tutorial/*.md")
    for page in ROOT.glob(pattern)
)
# fmt: on
WORDS_MAX, WORDS_NEVER = 25, 40  # of a sentence
LINE_MAX = 120
DOCSTRING_MAX = 80
FUNCTION_MAX, FILE_MAX = 70, 300
SLACK, SPARE = 0.2, 3  # of a ceiling, and of any; a count further below it has to lower it

#: Sentences of more than `WORDS_MAX` words in all pages.
LONG_SENTENCES = 3
#: Words with a private meaning, by where they are counted.
# fmt: off
PRIVATE = ("believe", "believed", "felt", "kept", "meet", "mend", "met", "nobody", "said", "stands",
           "tell", "tells", "told", "whose")
#: Words that say nothing as a name: what was found, given or kept should be named.
NAMELESS = ("felt", "found", "given", "kept", "mend", "met", "mine", "nobody", "said", "stands",
            "theirs", "told", "whose")
# fmt: on
# fmt: off
CEILINGS: dict[str, dict[str, int]] = {
    "docs": {
        "believed": 1, "felt": 2, "kept": 3, "meet": 2, "met": 3, "nobody": 5, "told": 1,
        "whose": 13,
    },
    "messages of Python": {
        "believed": 4, "felt": 4, "kept": 38, "meet": 5, "mend": 1, "met": 11, "nobody": 9,
        "said": 21, "stands": 1, "tell": 2, "told": 5, "whose": 9,
    },
    "help and messages of Rust": {
        "kept": 11, "meet": 1, "said": 1, "stands": 2, "tell": 1, "tells": 1, "told": 4,
        "whose": 2,
    },
    "pages of reports": {"said": 3, "whose": 1},
    "names in Python": {
        "felt": 166, "found": 59, "given": 10, "kept": 102, "met": 23, "mine": 11,
        "nobody": 2, "said": 41, "told": 8,
    },
    "names in Rust": {
        "found": 89, "given": 16, "kept": 45, "mine": 5, "nobody": 5, "said": 12, "stands": 1,
        "theirs": 5, "told": 85,
    },
}
# fmt: on
#: First lines of module docstrings above `DOCSTRING_MAX` characters.
LONG_DOCSTRINGS = 462
#: Functions above `FUNCTION_MAX` lines, and files above `FILE_MAX`: their lines now.
LONG_FUNCTIONS: dict[str, int] = {
    "crates/load/src/judge/summary.rs::summarise": 78,
    "crates/sim/src/fleet/job.rs::check": 84,
    "crates/trace/src/judge/made.rs::result": 81,
}
LONG_FILES: dict[str, int] = {
    "python/sojourn/host/usage/rates.py": 319,
    "python/sojourn/manage/daemon.py": 371,
    "python/sojourn/manage/groups.py": 335,
    "python/sojourn/report/figures/resources.py": 342,
}


# -- docs --------------------------------------------------------------------------------------


def blocks(text: str) -> Iterator[str]:
    """Paragraphs, items of lists and cells of tables, without code blocks and headings."""
    text = re.sub(r"^( *)```.*?^\1```", "", text, flags=re.MULTILINE | re.DOTALL)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        if not block.strip() or re.match(r"#|<!--| {4}", block.lstrip("\n")):
            continue
        if block.lstrip().startswith("|"):
            for row in block.strip().splitlines():
                yield from (cell.strip() for cell in re.split(r"(?<!\\)\|", row))
        else:
            yield " ".join(block.split())


def sentences(text: str) -> Iterator[str]:
    """Sentences of a page, in order.

    >>> list(sentences("One is here. `Two` is, too: e.g. this.\\n\\n| a cell. Another | b |"))
    ['One is here.', '`Two` is, too: e.g. this.', 'a cell.', 'Another', 'b']
    """
    for block in blocks(text):
        found = re.split(r"(?<=[.!?])[*)\"]*\s+(?=[*(\"“]*[A-Z0-9`])", block)
        yield from (sentence for sentence in found if sentence)


def words(sentence: str) -> int:
    """How many words a sentence has; code and links are one each."""
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "x", sentence)
    return len(re.findall(r"\w+(?:[-'’.,/]\w+)*", text))


def long_sentences(most: int) -> list[str]:
    return [
        f"{page.relative_to(ROOT)}: {sentence[:70]}… ({words(sentence)} words)"
        for page in PAGES
        for sentence in sentences(page.read_text())
        if words(sentence) > most
    ]


def test_no_sentence_of_the_docs_is_out_of_breath() -> None:
    assert long_sentences(WORDS_NEVER) == []


def test_few_sentences_of_the_docs_are_long() -> None:
    found = long_sentences(WORDS_MAX)
    ratchet("LONG_SENTENCES", len(found), LONG_SENTENCES, found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_short_lines_and_no_heading_twice_or_without_a_text(page: Path) -> None:
    lines = page.read_text().splitlines()
    # A table's row cannot be broken.
    wide = [line for line in lines if len(line) > LINE_MAX and not line.lstrip().startswith("|")]
    assert wide == []
    headings = list(headings_of(lines))
    twice = [name for name, count in Counter(name for _, name, _ in headings).items() if count > 1]
    assert twice == []
    empty = [
        name
        for (level, name, at), (next_level, _, next_at) in zip(
            headings, [*headings[1:], (0, "", len(lines))], strict=True
        )
        if next_level <= level and not "".join(lines[at + 1 : next_at]).strip()
    ]
    assert empty == []


def headings_of(lines: Iterable[str]) -> Iterator[tuple[int, str, int]]:
    """Level, text and line of each heading, outside of code."""
    is_code = False
    for at, line in enumerate(lines):
        is_code ^= line.lstrip().startswith("```")
        if not is_code and (found := re.match(r"(#+) (.+)", line)):
            yield len(found[1]), found[2], at


# -- words that have a meaning of their own ------------------------------------------------------


def sources(folder: str, *patterns: str) -> list[Path]:
    """Files that are no test and no help of one."""
    return [
        path
        for pattern in patterns
        for path in sorted((ROOT / folder).rglob(pattern))
        if not path.stem.endswith("_test")
        and not path.stem.startswith("testing")
        and not {"tests", "bpf", "studies"} & set(path.parts)
        and path.stem != "tests"
    ]


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage: nothing that is made within is any, and there are millions of nodes."""
    is_collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_collected:
            gc.enable()


@cache
@uncollected()
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sources("python/sojourn", "*.py")}


@cache
@uncollected()
def nodes() -> dict[Path, list[ast.AST]]:
    """All nodes of each file; to walk through them takes longest here."""
    return {path: list(ast.walk(tree)) for path, tree in trees().items()}


def python_messages() -> Iterator[str]:
    """Texts in the code that are no docstring; of commands the docstring too: it is their help."""
    for path, within in nodes().items():
        docs = {
            id(node.body[0].value)
            for node in within
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in within:
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and (id(node) not in docs or "cli" in path.parts):
                yield node.value  # type: ignore[attr-defined]


def rust_messages() -> Iterator[str]:
    """Texts in the code, and the comments that clap shows as help."""
    for path in sources("crates", "*.rs"):
        if "src" in path.parts:
            text = path.read_text()
            code = re.sub(r"^\s*//(?!/).*$", "", text, flags=re.MULTILINE)
            yield from re.findall(r'"((?:[^"\\\n]|\\.|\\\n)*)"', re.sub(r"///.*", "", code))
            yield from re.findall(r"((?:^\s*///.*\n)+)(?=\s*#\[arg)", text, re.MULTILINE)


def report_pages() -> Iterator[str]:
    for path in sources("python/sojourn", "*.j2"):
        yield re.sub(
            r"\{[{%#].*?[}%#]\}|<script.*?</script>", " ", path.read_text(), flags=re.DOTALL
        )


def python_names() -> Iterator[str]:
    """Names of functions, classes, attributes, parameters and variables, at each use.

    Not those of Python itself, such as FileNotFoundError.
    """
    for within in nodes().values():
        for node in within:
            if isinstance(node, ast.Name) and not hasattr(builtins, node.id):
                yield node.id
            elif isinstance(node, ast.Attribute):
                yield node.attr
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.arg | ast.keyword) and node.arg:
                yield node.arg


def rust_names() -> Iterator[str]:
    """Words of the code, without texts and comments."""
    for path in sources("crates", "*.rs"):
        if "src" in path.parts:
            yield re.sub(r'//.*$|"(?:[^"\\]|\\.)*"', "", path.read_text(), flags=re.MULTILINE)


def parts(text: str) -> list[str]:
    """The words of names: `toldBy`, `told_by` and `TOLD` have `told`."""
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower())


PLACES = {
    "docs": lambda: (page.read_text() for page in PAGES),
    "messages of Python": python_messages,
    "help and messages of Rust": rust_messages,
    "pages of reports": report_pages,
}
NAMES = {"names in Python": python_names, "names in Rust": rust_names}


@pytest.mark.parametrize("place", PLACES)
def test_words_with_a_private_meaning_get_fewer(place: str) -> None:
    text = "\n".join(PLACES[place]()).lower()
    found = Counter(re.findall(r"\b[a-z]+\b", text))
    for word in PRIVATE:
        ratchet(f"{word!r} in {place}", found[word], CEILINGS[place].get(word, 0))


@pytest.mark.parametrize("place", NAMES)
def test_names_that_say_nothing_get_fewer(place: str) -> None:
    found = Counter(parts("\n".join(NAMES[place]())))
    for word in NAMELESS:
        ratchet(f"{word!r} in {place}", found[word], CEILINGS[place].get(word, 0))


def test_a_name_is_split_into_its_words() -> None:
    assert parts("told_by toldBy TOLD_MAX retold") == [
        "told", "by", "told", "by", "told", "max", "retold",
    ]  # fmt: skip


# -- code --------------------------------------------------------------------------------------


def test_first_lines_of_modules_are_short() -> None:
    found = []
    for path, tree in trees().items():
        first = (ast.get_docstring(tree) or "").partition("\n")[0]
        found += [f"{path.relative_to(ROOT)}: {first}"] if len(first) > DOCSTRING_MAX else []
    ratchet("LONG_DOCSTRINGS", len(found), LONG_DOCSTRINGS, found)


def python_functions() -> Iterator[tuple[str, int]]:
    for path, within in nodes().items():
        for node in within:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                is_said = ast.get_docstring(node) is not None
                first = node.body[1].lineno if is_said and len(node.body) > 1 else node.lineno
                yield f"{path.relative_to(ROOT)}::{node.name}", node.end_lineno - first + 1  # type: ignore[operator]


def rust_functions() -> Iterator[tuple[str, int]]:
    """Each is laid out by rustfmt: it ends at the brace that stands as far left as it begins."""
    for path in sources("crates", "*.rs"):
        lines = path.read_text().splitlines()
        for at, line in enumerate(lines):
            if found := re.match(r"( *)(?:pub(?:\([a-z]+\))? )?(?:const |unsafe )*fn (\w+)", line):
                head = next(n for n in range(at, len(lines)) if lines[n].endswith(("{", ";", "}")))
                if lines[head].endswith("{"):
                    last = lines.index(found[1] + "}", head)
                    yield f"{path.relative_to(ROOT)}::{found[2]}", last - at + 1


def test_functions_fit_a_screen_but_for_those_that_are_named() -> None:
    found = {name: n for name, n in (*python_functions(), *rust_functions()) if n > FUNCTION_MAX}
    named("LONG_FUNCTIONS", found, LONG_FUNCTIONS)


def test_files_are_short_but_for_those_that_are_named() -> None:
    files = [*sources("python/sojourn", "*.py"), *sources("crates", "*.rs")]
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in files}
    found = {name: n for name, n in lines.items() if n > FILE_MAX}
    named("LONG_FILES", found, LONG_FILES)


# -- measures ----------------------------------------------------------------------------------


def ratchet(what: str, found: int, ceiling: int, which: Iterable[str] = ()) -> None:
    """At most the ceiling, and not much less: then the ceiling goes down."""
    assert found <= ceiling, "\n".join([f"{what}: {found}, allowed are {ceiling}", *which])
    assert found >= ceiling * (1 - SLACK) - SPARE, f"{what}: lower the ceiling {ceiling} to {found}"


def named(what: str, found: dict[str, int], known: dict[str, int]) -> None:
    """Only what is named is longer, and it does not grow; what got short is named no longer."""
    grown = {name: n for name, n in found.items() if n > known.get(name, 0)}
    assert grown == {}, f"{what}: cut these, they are too long"
    short = {name for name in set(known) - set(found) if (ROOT / name.partition("::")[0]).exists()}
    assert not short, f"{what}: take out what is short now"


def test_a_ratchet_fails_on_more_and_on_much_less() -> None:
    ratchet("x", 100, 100)
    ratchet("x", 95, 100)
    for found in (101, 50):
        with pytest.raises(AssertionError):
            ratchet("x", found, 100)
    with pytest.raises(AssertionError):
        named("x", {"f": 90}, {"f": 80})
    with pytest.raises(AssertionError):
        named("x", {}, {"README.md": 800})


def test_long_sentences_are_seen_in_paragraphs_items_and_cells() -> None:
    long = "word " * 26 + "end."
    for text in (long, f"- {long}", f"| a | {long} |", f"Short one. And {long}"):
        assert [s for s in sentences(text) if words(s) > WORDS_MAX], text
    assert not list(sentences(f"```\n{long}\n```\n"))
