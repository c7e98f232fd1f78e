"""The documentation as a site: strict, complete, and without anything from elsewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None, reason="needs mkdocs, which make setup installs"
)


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the docs with their configuration, beside links to the rest of the repository."""
    folder = tmp_path_factory.mktemp("site")
    for path in ROOT.iterdir():
        if path.name not in {"docs", "mkdocs.yml", "target", ".git"}:
            (folder / path.name).symlink_to(path)
    shutil.copytree(ROOT / "docs", folder / "docs")
    # The hook has to look at this copy.
    config = (ROOT / "mkdocs.yml").read_text().replace("scripts/site_hook.py", "hook.py")
    (folder / "mkdocs.yml").write_text(config)
    shutil.copy(ROOT / "scripts/site_hook.py", folder / "hook.py")
    hook = folder / "hook.py"
    hook.write_text(
        hook.read_text().replace("Path(__file__).parent.parent", "Path(__file__).parent")
    )
    return folder


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build it as `make site` does."""
    words = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_every_page_is_built_and_loads_nothing_from_elsewhere(docs: Path) -> None:
    done = build(docs)
    assert done.returncode == 0, done.stderr
    site = docs / "target/site"
    pages = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}
    wanted = {path.relative_to(docs / "docs").with_suffix("") for path in docs.glob("docs/**/*.md")}
    assert wanted <= pages
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="([^"]+)"', page.read_text()
        )
        away = [at for at in loaded if re.match(r"(https?:)?//", at)]
        assert not away, page
    assert list(site.rglob("search_index.js*")), "it can be searched"


def build_with(folder: Path, *links: str) -> subprocess.CompletedProcess[str]:
    """Build it with these links at the end of its first page."""
    page = folder / "docs/index.md"
    before = page.read_text()
    try:
        page.write_text("\n".join([before, *links, ""]))
        return build(folder)
    finally:
        page.write_text(before)


def test_each_broken_link_within_the_docs_is_an_error(docs: Path) -> None:
    broken = {
        "[x](howto/none.md)": "none.md",
        "[x](howto/view.md#no-such-part)": "no-such-part",
        "![x](no-such-picture.svg)": "no-such-picture",
    }
    done = build_with(docs, *broken)
    assert done.returncode != 0
    _, *warnings = done.stderr.split("WARNING")
    assert len(warnings) == len(broken), done.stderr
    for what in broken.values():
        assert sum(what in one for one in warnings) == 1, done.stderr


def test_a_broken_link_to_what_is_no_page_is_an_error(docs: Path) -> None:
    done = build_with(docs, "[x](../no-such-file.md)")
    assert done.returncode != 0
    assert "leads nowhere" in done.stderr
