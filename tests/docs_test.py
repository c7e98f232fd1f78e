"""The docs name what exists: commands, targets, studies, links."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import typer

from sojourn.analysis import reasons
from sojourn.cli.app import app

ROOT = Path(__file__).parent.parent
FOLDERS = ("howto", "decisions", "tutorial")
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/*.md", *(f"docs/{at}/*.md" for at in FOLDERS))
    for page in ROOT.glob(pattern)
)
IDS = ROOT / "docs/reference/ids.md"
SHORT = 4  # words, such as "As it speaks."
SOURCES = (("python", ("*.py", "*.toml")), ("crates", ("*.rs", "*.[ch]")))


@pytest.fixture(scope="module")
def text() -> str:
    return "\n".join(page.read_text() for page in PAGES)


def test_every_make_target_in_the_docs_exists(text: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`make |^make (?=\w+ +#))([a-z]+)(?=[` ])", text, re.MULTILINE))
    assert {"demo", "test", "check"} <= named
    assert named <= targets


def test_every_command_in_the_docs_exists(text: str) -> None:
    commands = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    named = set(re.findall(r"`sojourn ([a-z]+)[` ]", text))
    assert named
    assert named <= commands


def test_every_study_in_the_docs_exists_and_opens_with_its_question(text: str) -> None:
    studies = {path.stem: path for path in (ROOT / "python/sojourn/studies").glob("*.toml")}
    named = set(re.findall(r"sojourn run ([a-z_]+)", text))
    assert named
    assert named <= set(studies)
    for path in studies.values():
        assert path.read_text().startswith("#"), path


def sources() -> list[Path]:
    """Everything that is no test: ids in tests may be made up."""
    results = [p for at, forms in SOURCES for form in forms for p in (ROOT / at).rglob(form)]
    return [p for p in results if not p.stem.endswith("_test") and "tests" not in p.parts]


def test_every_id_in_the_sources_is_explained() -> None:
    explained = re.findall(r"^\| ([MLCPD]\d+) \| .+\. \|$", IDS.read_text(), re.MULTILINE)
    assert len(set(explained)) == len(explained)
    used: dict[str, Path] = {}
    for path in sources():
        words = re.findall(r"(?<![\w./#-])[MLCPD]\d{1,2}(?![\w/])", path.read_text())
        used |= dict.fromkeys(words, path)
    assert {"M20", "L5", "C7", "P8", "D8"} <= set(used)
    unknown = {word: str(path) for word, path in used.items() if word not in explained}
    assert not unknown, f"say in {IDS} what they are"


def test_the_ids_of_the_method_are_those_of_its_page() -> None:
    listed = re.findall(r"^\| (M\d+) \|", IDS.read_text(), re.MULTILINE)
    explained = re.findall(r"^### (M\d+) ", (ROOT / "docs/method.md").read_text(), re.MULTILINE)
    assert listed == explained


def test_a_docstring_says_what_comes_in_and_out() -> None:
    short = []
    for path in sources():
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                    words = (ast.get_docstring(node) or "not every one needs one").split()
                    short += [(path.name, words)] if len(words) <= SHORT else []
    assert not short


def test_the_docs_of_a_public_item_say_what_comes_in_and_out() -> None:
    # The heads of groups of options (LoadArgs, …) are read above the options, not alone.
    item = re.compile(r"^ *pub (?:const )?(?:fn|struct|enum|trait) (?!\w+Args\b)")
    short = []
    for path in sources():
        lines = path.read_text().splitlines() if path.suffix == ".rs" else []
        for number, line in enumerate(lines):
            above = number - 1
            while lines[above].lstrip().startswith("#["):
                above -= 1
            is_alone = not lines[above - 1].lstrip().startswith("///")
            words = lines[above].split()
            if item.match(line) and words[:1] == ["///"] and is_alone and len(words) <= SHORT + 1:
                short.append((path.name, number, words))
    assert not short


def test_every_reason_of_an_unknown_run_is_explained() -> None:
    """Who reads three words in an answer finds them in the page that says what to do."""
    page = (ROOT / "docs/howto/your-service.md").read_text()
    table = page.partition("## If the verdict is `unknown`")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\|((?: `[^|]+`,?)+) \|", table, re.MULTILINE))
    explained = {word for cell in named for word in re.findall(r"`([^`]+)`", cell)}
    kinds = (*reasons.KINDS.values(), *(about for _, about in reasons._PATTERNS))
    assert explained == {about.words for about in kinds}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_of_the_project_that_a_page_names_are_there(page: Path) -> None:
    """A file by its suffix, or a folder by its last stroke; NAME and the like stand for any."""
    if page.name == "CHANGELOG.md":  # it names what was
        return
    roots = [ROOT, *(ROOT / at for at in ("python/sojourn", "crates/load/src"))]
    named = re.findall(r"`((?:[a-z_0-9.]+/)+(?:[a-z_0-9]+\.(?:py|rs|sh|toml))?)`", page.read_text())
    known = [name for name in named if not name.startswith((".venv", "src/bin", "campaign-logs"))]
    for name in known:
        where = [root / name for root in roots]
        if page.name == "CONTRIBUTING.md":  # a table in the folder of its row
            where += [*ROOT.glob(f"python/sojourn/*/{name}"), *ROOT.glob(f"crates/*/src/{name}")]
        assert any(path.exists() for path in where), name


def test_each_input_of_the_threat_model_names_a_test_that_exists() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    rows = re.findall(
        r"^\| (.+) \|$", text.partition("## What comes in")[2].partition("\n## ")[0], re.MULTILINE
    )[2:]
    assert len(rows) > 10
    for row in rows:
        cells = [cell.strip() for cell in row.split(" | ")]
        assert len(cells) == 5, row
        assert all(cells), row
        named = re.findall(r"`([^`]+)`", cells[-1])
        assert named, row
        for name in named:
            assert (ROOT / name).exists() or (ROOT / "python/sojourn" / name).exists(), name
