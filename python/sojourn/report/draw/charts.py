"""Altair, which describes figures: it is loaded when the first one is drawn.

It takes a fifth of a second, and `show` draws none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import late

if TYPE_CHECKING:
    import altair as alt
else:
    alt = late.module("altair")

__all__ = ["alt"]
