"""Drawing on the terminal through Rich, which is imported when something is drawn.

Help and completion start with every key that is pressed; what they do not need is not loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def to_stdout() -> Console:
    """For data that people read."""
    from rich.console import Console

    return Console(highlight=False)


def to_stderr() -> Console:
    """For talk: stdout is data."""
    from rich.console import Console

    return Console(stderr=True, soft_wrap=True, highlight=False)


def new_table(*names: str, has_head: bool = True) -> Table:
    """A table without lines; further columns may be added."""
    from rich.table import Table

    return Table(*names, box=None, pad_edge=False, header_style="dim", show_header=has_head)


def escape(text: str) -> str:
    """Text that is shown as it is, brackets included."""
    from rich.markup import escape as escaped

    return escaped(text)
