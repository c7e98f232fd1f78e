"""A gate's answer for CI: Markdown and JUnit."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from sojourn.questions.compare.judge import Compared, Row, ratio_text, value_text
from sojourn.stats.gate_rule import Ruling
from sojourn.text.markdown import plain, row
from sojourn.visible import in_line

_SIGNS = {Ruling.REGRESSION: "❌", Ruling.FINE: "✅", Ruling.OPEN: "❔"}
HEADS = ("number", "baseline", "candidate", "ratio", "pairs")


def markdown(found: Compared) -> str:
    """The answer, a line for each number, and what an open answer would take."""
    sign = _SIGNS[found.ruling or Ruling.OPEN]
    lines = [f"{sign} **{plain(found.answer)}**", "", row(HEADS), row(["---"] * len(HEADS))]
    lines += [row(cells(one)) for one in found.rows]
    lines += [
        "",
        f"{found.blocks} blocks at {found.offered_rps:,.0f} requests/s, measured in turn.",
    ]
    lines += [f"{plain(reason[0].upper() + reason[1:])}." for reason in found.reasons]
    return "\n".join(lines) + "\n"


def cells(row: Row) -> tuple[str, ...]:
    """A line's texts; what was not counted is a dash."""
    first, other = value_text(row.first_ns), value_text(row.other_ns)
    return (row.number, first, other, ratio_text(row), str(row.pairs))


def junit(found: Compared) -> str:
    """A test case for each number: failed if it regressed, skipped where nothing can be decided."""
    is_open = found.ruling is not Ruling.FINE
    cases = [_case(row, found, is_open=is_open) for row in found.rows]
    failed = sum("<failure" in case for case in cases)
    skipped = sum("<skipped" in case for case in cases)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name="sojourn gate" tests="{len(cases)}" failures="{failed}" errors="0" '
        f'skipped="{skipped}" time="{found.blocks * found.block_s:.1f}">\n'
        + "".join(cases)
        + "</testsuite>\n"
    )


def _case(row: Row, found: Compared, *, is_open: bool) -> str:
    said = in_line(f"{ratio_text(row)}, {value_text(row.first_ns)} to {value_text(row.other_ns)}")
    inner = ""
    if found.ruling is Ruling.REGRESSION and row.number in found.decided_by:
        inner = f"<failure message={quoteattr(said)}>{escape(in_line(found.answer))}</failure>"
    elif is_open:
        inner = f"<skipped message={quoteattr(said)}/>"
    name = quoteattr(in_line(row.number))
    return f'  <testcase classname="sojourn.gate" name={name}>{inner}</testcase>\n'
