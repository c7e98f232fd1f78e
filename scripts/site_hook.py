"""Links of the docs to what is no page, such as code: on the site only the text stays.

`mkdocs` calls `on_page_markdown` for each page. Code, README and rows of benches are no pages; in a
checkout, and wherever the repository is shown, the same links lead to them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\(([^()\s#]+)(#[^()\s]*)?\)")
_IMAGE = re.compile(r"!\[([^\[\]]*)\]\(([^()\s]+)\)")


def inside(text: str, page: Path) -> str:
    """The text of a page without links that leave `docs/`; they must lead to a file all the same.

    >>> inside("[rules](../CONTRIBUTING.md), [terms](terms.md)", ROOT / "docs/method.md")
    'rules, [terms](terms.md)'
    """

    def link(match: re.Match[str]) -> str:
        return match[1] if _leaves(match[2], page) else match[0]

    def image(match: re.Match[str]) -> str:
        return f"({match[1]}: {Path(match[2]).name})" if _leaves(match[2], page) else match[0]

    return _IMAGE.sub(image, _LINK.sub(link, text))


def _leaves(target: str, page: Path) -> bool:
    """Whether a link leads to a file outside of the docs.

    Raises:
        FileNotFoundError: there is none.
    """
    if "://" in target or target.startswith("mailto:"):
        return False
    path = (page.parent / target).resolve()
    if path.is_relative_to(ROOT / "docs") and not path.is_dir():
        return False  # mkdocs looks at these
    if not path.exists():
        raise FileNotFoundError(f"{page}: the link to {target} leads nowhere")
    return True


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """What mkdocs makes the page from."""
    return inside(markdown, Path(page.file.abs_src_path))
