"""Pictures as wide as one or two columns of a paper, with text that can be read.

Source: the classes of ACM (`acmart`, sigconf) and USENIX, whose columns are 3.33 in and whose text
is 7 in wide; IEEE's are 3.5 and 7.16 in.
"""

from __future__ import annotations

import re

COLUMN_IN, PAGE_IN = 3.33, 7.0
POINTS = 72  # of an inch
COLUMN_PX = 400  # text of 12 px is then 7.2 pt; across the page it is 8.9 pt
_SIZE = re.compile(r'<svg\b[^>]*?\swidth="([0-9.]+)"\sheight="([0-9.]+)"')


def in_inches(svg: str, inches: float) -> str:
    """The same picture, so many inches wide; as it is where its root has no size.

    >>> in_inches('<svg class="a" width="100" height="50" viewBox="0 0 100 50">', 2.0)
    '<svg class="a" width="2in" height="1in" viewBox="0 0 100 50">'
    """
    return _wide(svg, inches, "in")


def for_pdf(svg: str, inches: float) -> str:
    """The same for vl-convert, which makes a point of each px, and 96 of an inch."""
    return _wide(svg, POINTS * inches, "")


def _wide(svg: str, wanted: float, unit: str) -> str:
    root = _SIZE.match(svg)
    if not root:
        return svg
    width, height = float(root[1]), float(root[2])
    size = f'width="{wanted:g}{unit}" height="{height * wanted / width:.4g}{unit}"'
    start = svg.index(' width="', 0, root.end()) + 1
    return f"{svg[:start]}{size}{svg[root.end() :]}"
