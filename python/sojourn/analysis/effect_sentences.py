"""An effect of a factor in words, and whether it is more than what equal runs differ by."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sojourn.analysis import aa_noise_floor
from sojourn.analysis.block_values import Borders
from sojourn.findings.effects import INFINITE_IN, LOST_OR_GREW, MORE_THAN_SERVED, Effect
from sojourn.findings.measurement_error import NoiseFloor
from sojourn.half_width import COVERAGE
from sojourn.plan.setting import Setting, level_text
from sojourn.stats import incomplete_blocks
from sojourn.stats.interval import Interval
from sojourn.stats.log_ratio_contrasts import (
    BLOCKS_MIN,
    Blocks,
    Contrast,
    Counts,
    combined,
    middle,
    ratio,
)
from sojourn.text.numbers import percent

LIMIT, PEAK = "the highest load within QoS", "max RPS"  # the two rates that are compared
UNLIKE = "the shield was not the same"  # so two levels do not compare
UNINFORMATIVE = 1e4  # from one end of an interval to the other
OPEN_BORDER = "how much load fits has no closed interval under some levels"
NO_LOAD = "no load fits"
NO_LOAD_SOME = f"{NO_LOAD} under some levels"
_OF_MEDIAN = math.sqrt(math.pi / 2)  # its standard deviation, of that of a mean of normal values


@dataclass(frozen=True, slots=True)
class Number:
    """What is compared; fields as in `Effect`, and the noise floor of this number if it has one."""

    what: str
    is_time: bool
    coverage: float = COVERAGE
    doubt: str = ""
    floor: NoiseFloor | None = None


@dataclass(frozen=True, slots=True)
class Saying:
    """Makes effects of ratios, with their sentences."""

    contrast: Contrast
    name: str

    def of_blocks(
        self,
        number: Number,
        values: Blocks,
        *,
        unlike: str,
        runs: Counts | None = None,
        losses: Mapping[Setting, float] | None = None,
    ) -> Effect:
        """An effect from values by block and combination.

        Args:
            number: that is compared.
            values: positive numbers.
            unlike: as in `effect`.
            runs: how many each is the mean of; None: of one.
            losses: share of requests that were lost where that makes it infinite, by combination.
        """
        logs = self.contrast.by_block(values)
        lost = len(logs) - sum(map(math.isfinite, logs))
        if lost and not unlike and (side := self.contrast.endless(values)):
            return self._endless(number, side, len(logs), self._why(values, losses or {}))
        if lost and (median := middle(logs)):
            where = f"by the median, for {INFINITE_IN.format(lost, len(logs))}"
            text = self.effect(number, *median, blocks=len(logs), reason="", unlike=unlike)
            text = replace(text, sentence=f"{text.sentence}, {where}")
            return _held(text, number.floor, _OF_MEDIAN * self.contrast.spread(values, runs))
        few = not lost and len(logs) < BLOCKS_MIN
        if few and (result := incomplete_blocks.fitted(self.contrast, values)):
            text = self.effect(
                number,
                result.ratio,
                result.interval,
                blocks=result.blocks,
                reason="",
                unlike=unlike,
            )
            return _held(text, number.floor, result.spread)
        value, interval = ratio(logs) if not lost else (None, None)
        if lost:
            why = self._why(values, losses or {}) or LOST_OR_GREW
            reason = f"{INFINITE_IN.format(lost, len(logs))}: {why}"
        elif value is None:
            reason = "no block has valid runs of both levels"
        else:
            reason = "" if interval else "one block gives no interval (see run.repeats)"
        text = self.effect(number, value, interval, blocks=len(logs), reason=reason, unlike=unlike)
        return _held(text, number.floor, self.contrast.spread(values, runs)) if logs else text

    def _why(self, values: Blocks, losses: Mapping[Setting, float]) -> str:
        """Why it is infinite, where lost requests are among the causes; "" where the queue grew."""
        infinite = {
            cell
            for measured in values.values()
            for cell in self.contrast.weights(measured) or ()
            if math.isinf(measured[cell])
        }
        shares = [losses[cell] for cell in infinite if cell in losses]
        if not shares:
            return ""
        if len(shares) < len(infinite):
            return LOST_OR_GREW
        upto = "up to " if len(shares) > 1 else ""
        return f"{upto}{percent(max(shares), 1 if upto else 0)} of the requests were lost"

    def _endless(self, number: Number, side: int, blocks: int, why: str) -> Effect:
        """Of a number that only one of the levels keeps finite, in all blocks."""
        reason, verb = (why, "is infinite") if why else (MORE_THAN_SERVED, "grows without end")
        result = self.effect(number, None, None, blocks=blocks, reason=reason, unlike="")
        more, less = (result.level, result.base) if side > 0 else (result.base, result.level)
        text = f"{number.what} {verb} with {self.name} = {more}, and not with {less}: {reason}"
        return replace(result, endless=side, sentence=text)

    def of_borders(self, number: Number, borders: Borders, *, unlike: str) -> Effect:
        """An effect on how much load fits, which has an interval of its own by combination.

        Where no load fits under either level there is nothing to compare, and it is reported that
        these are left out. Where one level alone lets some load fit, that is the answer.
        """
        pairs = self.contrast.pairs()
        left = [pair for pair in pairs if not borders.without.issuperset(pair)]
        out = {cell for pair in pairs if pair not in left for cell in pair}
        count = f"{len(pairs) - len(left)} of {len(pairs)}"
        note = f"{NO_LOAD} in {count} pairs, which are left out" if out else ""
        if not unlike and (side := _one_sided(left, borders)):
            return _noted(self._no_load(number, side), note)
        cells = tuple(cell for cell in self.contrast.cells if cell not in out)
        value, interval = combined(replace(self.contrast, cells=cells), borders.closed)
        # A fraction of a design has no pairs: it compares all of its combinations at once.
        compared = {cell for pair in left or pairs for cell in pair} or self.contrast.cells
        why = OPEN_BORDER if borders.without.isdisjoint(compared) else NO_LOAD_SOME
        reason = "" if interval else why
        result = self.effect(number, value, interval, reason=reason, unlike=unlike)
        return _noted(result, note) if result.interval else result

    def _no_load(self, number: Number, side: int) -> Effect:
        """Of a service of which some load fits under one of the levels alone."""
        base, level = level_text(self.contrast.base), level_text(self.contrast.level)
        more, less = (level, base) if side > 0 else (base, level)
        reason = f"{NO_LOAD} with {less}"
        result = self.effect(number, None, None, reason=reason, unlike="")
        text = f"{NO_LOAD} within QoS with {self.name} = {less}, and some does with {more}"
        return replace(result, endless=side, sentence=text)

    def effect(
        self,
        number: Number,
        value: float | None,
        interval: Interval | None,
        *,
        blocks: int = 0,
        reason: str,
        unlike: str,
    ) -> Effect:
        """An effect; `unlike` says why the two levels do not compare, whatever was measured."""
        reason = (unlike or reason) if value is not None else reason
        interval = None if reason else interval
        base, level = level_text(self.contrast.base), level_text(self.contrast.level)
        text = f", {'but ' if value else 'for '}{reason}" if reason else ""
        return Effect(
            what=number.what,
            is_time=number.is_time,
            base=base,
            level=level,
            ratio=value,
            interval=interval,
            coverage=number.coverage,
            blocks=blocks,
            reason=reason,
            doubt=number.doubt,
            sentence=_words(number, f"with {self.name} = {level}", base, value, interval) + text,
        )


def unlike_shields(base: Iterable[Collection[str]], level: Iterable[Collection[str]]) -> str:
    """Why two levels do not compare: their runs had other shields; "" if they had the same.

    Args:
        base: shields of the runs of each combination that has the one level.
        level: of those that have the other.
    """
    sides = [{shield for of in each for shield in of} for each in (base, level)]
    if not all(sides) or sides[0] == sides[1]:
        return ""
    text = " and ".join("/".join(sorted(side)) for side in sides)
    return f"{UNLIKE} ({text}): run with --no-shield to compare"


def _noted(effect: Effect, note: str) -> Effect:
    """The effect with a note in its doubt and its sentence; "" adds none."""
    if not note:
        return effect
    doubt = "; ".join(filter(None, (effect.doubt, note)))
    return replace(effect, doubt=doubt, sentence=f"{effect.sentence}, but {note}")


def _one_sided(pairs: Sequence[tuple[Setting, Setting]], borders: Borders) -> int:
    """1 if some load fits under the second of each pair alone, −1 if under the first alone."""
    sides = {
        (base in borders.fitting and level in borders.without)
        - (level in borders.fitting and base in borders.without)
        for base, level in pairs
    }
    return -sides.pop() if len(sides) == 1 else 0


def _held(effect: Effect, floor: NoiseFloor | None, spread: float) -> Effect:
    """The effect, held against what equal runs differ by."""
    if not effect.ratio or floor is None:
        return effect
    apart = aa_noise_floor.gate(floor, spread)
    is_noise = aa_noise_floor.is_within(floor, effect.ratio, spread)
    if effect.interval and effect.interval.hi / effect.interval.lo > UNINFORMATIVE:
        return replace(effect, noise_gate=math.exp(apart), is_noise=is_noise)
    tail = f", within the noise of equal runs ({percent(math.expm1(apart))})"
    sentence = effect.sentence + tail if is_noise else effect.sentence
    return replace(effect, noise_gate=math.exp(apart), is_noise=is_noise, sentence=sentence)


def _words(
    number: Number, under: str, base: str, value: float | None, interval: Interval | None
) -> str:
    """`p99 at 70 % load is 1.8 times (1.4 to 2.3) as long with threads = 2 as with 1`."""
    if value is None:
        return f"{number.what} {under} cannot be compared with {base}"
    beside = f"as {'long' if number.is_time else 'high'} {under} as with {base}"
    if interval is None:
        return f"{number.what} was {_digits(value)} times {beside}"
    if interval.hi / interval.lo > UNINFORMATIVE:
        return (
            f"{number.what} {under} cannot be compared with {base}: blocks differ by far too much"
        )
    ends = f"{_digits(interval.lo)} to {_digits(interval.hi)}"
    same = ", which may be no difference" if interval.lo <= 1 <= interval.hi else ""
    return f"{number.what} is {_digits(value)} times ({ends}) {beside}{same}"


def _digits(value: float) -> str:
    """Two digits; three around and above one, where they still say something.

    >>> _digits(1.0321), _digits(0.046), _digits(12.34)
    ('1.03', '0.046', '12.3')
    """
    return f"{value:.3g}" if value >= 0.9 else f"{value:.2g}"
