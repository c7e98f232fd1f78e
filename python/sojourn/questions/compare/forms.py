"""A gate's answer for CI: Markdown, JUnit, and a line for GitHub."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from sojourn.questions.compare.compared import Compared, Row
from sojourn.questions.compare.words import blocks_text, moved_words, ratio_text, value_texts
from sojourn.report.comparison import MOVED
from sojourn.stats.gate_rule import Ruling
from sojourn.text.markdown import plain, row
from sojourn.visible import in_line

_SIGNS = {Ruling.REGRESSION: "❌", Ruling.FINE: "✅", Ruling.OPEN: "❔"}
_LEVELS = {Ruling.REGRESSION: "error", Ruling.FINE: "notice", Ruling.OPEN: "warning"}
HEADS = ("number", "baseline", "candidate", "ratio", "pairs")


def markdown(section: Compared) -> str:
    """The answer, a line for each number, and what an open answer would take."""
    sign = _SIGNS[section.ruling or Ruling.OPEN]
    lines = [f"{sign} **{plain(section.answer)}**", "", row(HEADS), row(["---"] * len(HEADS))]
    lines += [row(cells(one)) for one in section.rows]
    lines += [
        "",
        f"{blocks_text(section)}, measured in turn.",
    ]
    lines += [f"{plain(reason[0].upper() + reason[1:])}." for reason in section.reasons]
    lines += ["", *map(plain, words)] if (words := moved_words(section)) else []
    for one in section.moved:
        lines += ["", row(MOVED), row(["---"] * len(MOVED)), *map(row, one.rows)]
    return "\n".join(lines) + "\n"


def cells(row: Row) -> tuple[str, ...]:
    """A line's texts; what was not counted is a dash."""
    return (row.number, *value_texts(row), ratio_text(row), str(row.pairs))


def annotation(section: Compared) -> str:
    """The answer as GitHub shows it beside a commit."""
    level = _LEVELS[section.ruling or Ruling.OPEN]
    text = in_line(" ".join([section.answer, *moved_words(section)]))
    return f"::{level} title=sojourn gate::{text.replace('%', '%25')}"


def junit(section: Compared) -> str:
    """A test case for each number: failed if it regressed, skipped where nothing can be decided."""
    is_open = section.ruling is not Ruling.FINE
    cases = [_case(row, section, is_open=is_open) for row in section.rows]
    failed = sum("<failure" in case for case in cases)
    skipped = sum("<skipped" in case for case in cases)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name="sojourn gate" tests="{len(cases)}" failures="{failed}" errors="0" '
        f'skipped="{skipped}" time="{section.blocks * section.block_s:.1f}">\n'
        + "".join(cases)
        + "</testsuite>\n"
    )


def _case(row: Row, section: Compared, *, is_open: bool) -> str:
    text = in_line(f"{ratio_text(row)}, {' to '.join(value_texts(row))}")
    inner = ""
    if section.ruling is Ruling.REGRESSION and row.number in section.decided_by:
        why = in_line(" ".join([section.answer, *moved_words(section)]))
        inner = f"<failure message={quoteattr(text)}>{escape(why)}</failure>"
    elif is_open:
        inner = f"<skipped message={quoteattr(text)}/>"
    name = quoteattr(in_line(row.number))
    return f'  <testcase classname="sojourn.gate" name={name}>{inner}</testcase>\n'
