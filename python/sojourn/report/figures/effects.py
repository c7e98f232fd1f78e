"""What each level of a factor does, as dots with intervals: 1 marked, what equal runs do shaded."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.findings.findings import Findings
from sojourn.report import ratios, show
from sojourn.report.draw import dots
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.draw.table import Record, from_records
from sojourn.report.ratios import Ratio

NAME = "effects"
# fmt: off
COLUMNS = (
    "service", "level", "base", "what", "ratio", "lo", "hi", "coverage", "blocks", "noise_gate",
    "kind", "reason",
)
# fmt: on
ACROSS, FLOOR = "times as long, or times as high", "; shaded: what equal runs differ by"
SHORTER, LONGER, OPEN = "better", "worse", "not shown"
LOOKS = {LONGER: "violated", SHORTER: "holds", OPEN: "unknown"}


def draw(findings: Findings) -> list[Figure]:
    """One figure; none where no level was compared with another."""
    result = ratios.ratios_of(findings)
    if not result:
        return []
    records = [_record(one) for one in result]
    title = "What each level does, as a ratio"
    table = from_records(COLUMNS, records)
    drawn = [record for record in records if record["lo"] is not None]
    if not drawn:
        missing = next((one.effect.reason for one in result if one.effect.reason), "")
        return [
            Figure(
                name=NAME,
                title=title,
                caption="",
                alt="",
                table=table,
                missing=missing or "No two levels have runs that can be compared.",
            )
        ]
    shown = [one for one in result if one.is_shown]
    return [
        Figure(
            name=NAME,
            title=_title(result),
            caption=(
                "Ratio of a number with a level to the same with the factor's first level, averaged"
                " over the levels of the other factors. Lines are its intervals over blocks. At 1"
                " nothing changes; shaded is what equal runs differ by. Hollow: no difference was"
                " shown, or the interval spans more than a factor of three. (M15 to M17)"
            ),
            alt=f"A difference was shown for {len(shown)} of {len(drawn)} ratios"
            + (
                f": {show.listed([f'{one.name} {one.words}' for one in shown], 4)}."
                if shown
                else "."
            ),
            table=table,
            chart=dots.ratios(
                drawn,
                looks=LOOKS,
                hollow=OPEN,
                title=title,
                kinds=ratios.whats(result),
                across=ACROSS + (FLOOR if any(r["floor"] for r in drawn) else ""),
                tooltip=("beside", "what", "words", "kind", "blocks", "reason"),
            ),
            is_wide=True,
        )
    ]


def _title(results: Sequence[Ratio]) -> str:
    bases = {one.base for one in results}
    beside = f", beside {bases.pop()}" if len(bases) == 1 else ""
    return f"What each level does, as a ratio{beside}"


def _record(one: Ratio) -> Record:
    effect = one.effect
    ends = effect.interval
    return {
        "service": one.service,
        "level": one.name,
        "base": one.base,
        "what": effect.what,
        "ratio": effect.ratio,
        "lo": ends.lo if ends else None,
        "hi": ends.hi if ends else None,
        "coverage": effect.coverage,
        "blocks": effect.blocks,
        "noise_gate": effect.noise_gate,
        "kind": one.kind.value,
        "reason": show.sentences((effect.reason, effect.doubt)),
        "words": one.words,
        "look": _look(one),
        "beside": f"{one.name}, to {one.base}",
        "row": one.name,
        "floor": effect.noise_gate,
        "shown": one.words.partition(" (")[0] if one.is_shown else "",
    }


def _look(one: Ratio) -> str:
    if not one.is_shown or one.effect.ratio is None:
        return OPEN
    return LONGER if (one.effect.ratio > 1) is one.effect.is_time else SHORTER


KIND = Kind(
    name=NAME,
    about="what each level of a factor does, as ratios with intervals and noise floor (M15 to M17)",
    of_study=draw,
)
