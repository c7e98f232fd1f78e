"""Colours by role. Figures name roles as CSS variables; exports get the light set written in.

In the page `var(--holds)` follows the theme at once, also when a dark page is printed. A picture
file has no style sheet, so `resolve` writes the light colours into its specification. Contrast
with the background is at least 4.5:1 for text and 3:1 for marks (WCAG 2.2); a test computes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

# Blue and vermilion after Okabe and Ito: distinguished in all common forms of colour blindness.
LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "panel": "#f5f7f9",
    "ink": "#1b1f24",
    "muted": "#57606a",
    "grid": "#dfe4e9",
    "holds": "#0067a3",
    "violated": "#b84300",
    "unknown": "#6b7280",
    "band": "#3c8f4a",
    "qos": "#a1186d",
    "curve": "#0067a3",
    "theory": "#7a4fbf",
    "crossing": "#8a6100",
    "link": "#0b5cad",
    "series-0": "#1f5fbf",
    "series-1": "#b84a00",
    "series-2": "#2e7d4f",
    "series-3": "#7a4fbf",
    "series-4": "#8a6100",
    "series-5": "#5b6470",
    "series-6": "#0f8a80",
    "series-7": "#d07600",
    "series-8": "#4a8ad4",
    "series-9": "#a83268",
    "series-10": "#5a9430",
    "series-11": "#1b1f24",
    "stage-irq-0": "#1f5fbf",
    "stage-irq-1": "#4a8ad4",
    "stage-wait-0": "#b84300",
    "stage-wait-1": "#d07600",
    "stage-wait-2": "#a83268",
    "stage-call-0": "#2e7d4f",
    "stage-call-1": "#5a9430",
    "stage-call-2": "#0f8a80",
    "stage-user": "#7a4fbf",
    "stage-rest-0": "#8a6100",
    "stage-rest-1": "#57606a",
    "stage-rest-2": "#858d97",
}
DARK: Mapping[str, str] = {
    "paper": "#14181d",
    "panel": "#1d232a",
    "ink": "#e8ecf0",
    "muted": "#a3adb8",
    "grid": "#343c46",
    "holds": "#56b4e9",
    "violated": "#ff8a4c",
    "unknown": "#a0a8b2",
    "band": "#6cc57b",
    "qos": "#f08bc6",
    "curve": "#56b4e9",
    "theory": "#b79af0",
    "crossing": "#e0b040",
    "link": "#7cc0ff",
    "series-0": "#7aaeff",
    "series-1": "#ff9e5c",
    "series-2": "#6cc57b",
    "series-3": "#b79af0",
    "series-4": "#e0b040",
    "series-5": "#a0a8b2",
    "series-6": "#4fb8ae",
    "series-7": "#ffc04d",
    "series-8": "#4a86d8",
    "series-9": "#f08bb4",
    "series-10": "#b0d96a",
    "series-11": "#e8ecf0",
    "stage-irq-0": "#7aaeff",
    "stage-irq-1": "#4a86d8",
    "stage-wait-0": "#ff8a4c",
    "stage-wait-1": "#ffc04d",
    "stage-wait-2": "#f08bb4",
    "stage-call-0": "#6cc57b",
    "stage-call-1": "#b0d96a",
    "stage-call-2": "#4fb8ae",
    "stage-user": "#b79af0",
    "stage-rest-0": "#c9a27a",
    "stage-rest-1": "#d5dbe1",
    "stage-rest-2": "#a0a8b2",
}

# Light load to heavy load, ten steps cut from viridis so that both ends stay visible.
_LIGHT_LOADS = (
    "#3f9f4d",
    "#2a9d74",
    "#1f948b",
    "#25848e",
    "#2c728e",
    "#355f8d",
    "#3e4c8a",
    "#46327e",
    "#481b6d",
    "#2a0134",
)
_DARK_LOADS = (
    "#5b8fd0",
    "#4a9bc4",
    "#2fa7ac",
    "#22b491",
    "#35b779",
    "#56c667",
    "#86d549",
    "#b5de2b",
    "#dde318",
    "#fff3a0",
)
LOADS = len(_LIGHT_LOADS)
SERIES = 6
CURVES = 12  # colours of curves that nothing else separates

THEMES: Mapping[str, Mapping[str, str]] = {
    "light": {**LIGHT, **{f"load-{i}": colour for i, colour in enumerate(_LIGHT_LOADS)}},
    "dark": {**DARK, **{f"load-{i}": colour for i, colour in enumerate(_DARK_LOADS)}},
}

_VARIABLE = re.compile(r"var\(--([a-z0-9-]+)\)")


def role(name: str) -> str:
    """The CSS variable of a role.

    >>> role("holds")
    'var(--holds)'
    """
    if name not in THEMES["light"]:
        raise KeyError(name)
    return f"var(--{name})"


def load(index: int, of: int) -> str:
    """The colour of the `index`-th of `of` loads, light to heavy."""
    step = 0 if of < 2 else round(index * (LOADS - 1) / (of - 1))
    return role(f"load-{step}")


def resolve(specification: object, theme: Mapping[str, str] = THEMES["light"]) -> object:
    """The same specification with every role replaced by its colour."""
    if isinstance(specification, str):
        return _VARIABLE.sub(lambda result: theme[result[1]], specification)
    if isinstance(specification, Mapping):
        return {key: resolve(value, theme) for key, value in specification.items()}
    if isinstance(specification, list | tuple):
        return [resolve(value, theme) for value in specification]
    return specification


def series(index: int) -> str:
    """The colour of one of several services; after six they repeat, and shapes tell them apart."""
    return role(f"series-{index % SERIES}")


def curves(names: Sequence[str]) -> list[str]:
    """A colour for each of many curves: no two of twelve have the same."""
    return [role(f"series-{n % CURVES}") for n in range(len(names))]


def style(theme: Mapping[str, str]) -> str:
    """The theme as CSS declarations."""
    return " ".join(f"--{name}: {colour};" for name, colour in theme.items())
