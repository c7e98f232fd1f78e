"""An effect of a factor in words, and whether it is more than what equal runs differ by."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sojourn.analysis import aa_noise_floor
from sojourn.findings.effects import Effect
from sojourn.findings.measurement_error import NoiseFloor
from sojourn.half_width import COVERAGE
from sojourn.plan.setting import level_text
from sojourn.stats import incomplete_blocks
from sojourn.stats.interval import Interval
from sojourn.stats.log_ratio_contrasts import BLOCKS_MIN, Blocks, Contrast, Counts, ratio
from sojourn.text.numbers import percent

LIMIT, PEAK = "the highest load within QoS", "max RPS"  # the two rates that are compared
UNLIKE = "the shield was not the same"  # so two levels do not compare
UNINFORMATIVE = 1e4  # from one end of an interval to the other
ENDLESS = "that is more load than is served"


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
        self, number: Number, values: Blocks, *, unlike: str, runs: Counts | None = None
    ) -> Effect:
        """An effect from values by block and combination; of one run each if `runs` is None."""
        logs = self.contrast.by_block(values)
        lost = sum(map(math.isnan, logs))
        if lost and not unlike and (side := self.contrast.endless(values)):
            return self._endless(number, side, len(logs))
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
            where = f"it is infinite in {lost} of {len(logs)} blocks"
            reason = f"{where}: requests were lost, or the queue grew"
        elif value is None:
            reason = "no block has valid runs of both levels"
        else:
            reason = "" if interval else "one block gives no interval (see run.repeats)"
        text = self.effect(number, value, interval, blocks=len(logs), reason=reason, unlike=unlike)
        return _held(text, number.floor, self.contrast.spread(values, runs)) if logs else text

    def _endless(self, number: Number, side: int, blocks: int) -> Effect:
        """Of a number that only one of the levels keeps finite, in all blocks."""
        result = self.effect(number, None, None, blocks=blocks, reason=ENDLESS, unlike="")
        more, less = (result.level, result.base) if side > 0 else (result.base, result.level)
        text = f"{number.what} grows without end with {self.name} = {more}, and not with {less}"
        return replace(result, endless=side, sentence=f"{text}: {ENDLESS}")

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
