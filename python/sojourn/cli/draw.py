"""Drawing on the terminal through Rich, which is imported when something is drawn.

Help and completion start with every key that is pressed; what they do not need is not loaded. All
consoles are made here, because these spell out what would control the terminal (`sojourn.visible`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from sojourn.visible import in_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.table import Table


def to_stdout() -> Console:
    """For data that people read."""
    return _kind()(highlight=False)


def to_stderr() -> Console:
    """For talk: stdout is data."""
    return _kind()(stderr=True, soft_wrap=True, highlight=False)


@cache
def _kind() -> type[Console]:
    """A console whose text, wherever it comes from, controls nothing; its own styles do."""
    from rich.console import Console
    from rich.segment import Segment

    class Visible(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for part in super().render(renderable, options):
                is_ours = part.control is not None  # such as to write over a line
                yield part if is_ours else Segment(visible(part.text), part.style)

    return Visible


def new_table(*names: str, has_head: bool = True) -> Table:
    """A table without lines; further columns may be added."""
    from rich.table import Table

    return Table(*names, box=None, pad_edge=False, header_style="dim", show_header=has_head)


def escape(text: str) -> str:
    """Text that is shown as it is, brackets included."""
    from rich.markup import escape as escaped

    return escaped(text)


def named(text: str) -> str:
    """A name in one line, shown as it is: of a process, a folder, a service."""
    return escape(in_line(text))
