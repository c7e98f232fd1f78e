"""What a neighbour retained of its pace alone beside a service, at each load (L27, M22).

Every run has both figures: the pace while load ran, and the one alone that was measured just before
it, so that a machine which changes its speed is not taken for a loss. The share of several runs is
the geometric mean of theirs. From three runs on its interval is Student's over runs; of fewer it is
that of the seconds within them, which knows nothing of restarts, and the words say so.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sojourn.analysis.combinations import Part
from sojourn.findings.effects import FactorFinding
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.measured import Measured, StudyData
from sojourn.findings.neighbour_pace import Kept
from sojourn.half_width import normal, student
from sojourn.plan.points import Phase, Verdict
from sojourn.plan.setting import TWIN, level_text
from sojourn.samples.pace import Pace
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.levels import names
from sojourn.stats.interval import Interval, around, raised
from sojourn.stats.method import Method
from sojourn.text.numbers import load_share, percent

METHOD = Method(
    name="pace",
    about="what a neighbour kept of its pace alone: ratio to that measured as it entered",
    ids=("L27", "L28", "M15", "M22"),
    source="resctl-bench (isolation, work conservation); Student's t on logarithms",
)

RUNS_MIN = 3  # of an interval over runs, as over restarts
NAME = "the neighbour's pace"
SENTENCE_LOAD = 0.7  # load that is reported in words, or the nearest
SENTENCE_MAX = 8  # neighbours in the words; the table has all


def neighbour_paces(data: StudyData, spec: ServiceSpec) -> tuple[Kept, ...]:
    """What its neighbour kept at each load of a service's sweep, loads ascending.

    Args:
        data: a study of one combination, and its points.
        spec: the service.
    """
    runs: dict[float, list[Measured]] = defaultdict(list)
    for one in data.of(spec.label):
        point = one.outcome.point
        is_load = point.phase is Phase.SWEEP and point.fraction is not None
        if is_load and TWIN not in point.setting:
            runs[point.fraction or 0.0].append(one)
    results = (_at(data.study.neighbour, load, runs[load]) for load in sorted(runs))
    return tuple(one for one in results if one is not None)


def _at(neighbour: str, load: float, runs: Sequence[Measured]) -> Kept | None:
    called = next((one.pace.called for one in runs if one.pace), None)
    if called is None:
        return None
    believed = [one.pace for one in runs if one.pace and one.outcome.verdict is not Verdict.UNKNOWN]
    result = of_runs(neighbour, load, believed)
    return result if believed else replace(result, called=called)


def of_runs(neighbour: str, load: float, runs: Sequence[Pace]) -> Kept:
    """What believed runs at one load say of their neighbour.

    Args:
        neighbour: as the study has it.
        load: share of max RPS.
        runs: what each reported; none: nothing is known.
    """
    if not runs:
        return Kept(neighbour=neighbour, fraction=load, reason="no run is valid")
    share, interval, reason = share_of(runs)
    alone = [one.alone_per_s for one in runs]
    return Kept(
        neighbour=neighbour,
        fraction=load,
        called=runs[0].called,
        unit=runs[0].unit,
        share=share,
        interval=interval,
        is_across_runs=len(runs) >= RUNS_MIN,
        per_s=float(np.mean([one.per_s for one in runs])),
        asked_per_s=_asked(runs),
        alone_per_s=float(np.mean(alone)),
        alone_interval=_alone(runs),
        runs=len(runs),
        core_share=runs[0].core_share,
        reason=reason,
    )


def share_of(runs: Sequence[Pace]) -> tuple[float, Interval | None, str]:
    """(share kept, its interval, why there is none) of one run or more.

    >>> told = dict(called="xz", unit="files", alone_per_s=10.0, alone_error_per_s=0.0)
    >>> one = Pace(per_s=5.0, error_per_s=0.1, asked_per_s=None, seconds=9, **told)
    >>> share, ends, _ = share_of([one])
    >>> f"{share:.2f} ({ends.lo:.3f} to {ends.hi:.3f})"
    '0.50 (0.477 to 0.524)'
    """
    if any(one.per_s <= 0 for one in runs):
        return float(np.mean([one.kept for one in runs])), None, "it stood still in some run"
    return geometric(
        [math.log(one.kept) for one in runs],
        [one.error for one in runs],
        sum(one.seconds - 1 for one in runs),
    )


def geometric(
    values: Sequence[float], errors: Sequence[float | None], free: int
) -> tuple[float, Interval | None, str]:
    """(geometric mean, its interval, why there is none) of one run or more.

    Args:
        values: logarithms, a run each.
        errors: their standard errors by the seconds of each run; None: not known.
        free: degrees of freedom of all these seconds together.
    """
    logs = np.asarray(values, float)
    mean = float(logs.mean())
    if len(logs) >= RUNS_MIN:
        error, free = float(logs.std(ddof=1)) / math.sqrt(len(logs)), len(logs) - 1
    else:
        known = [error for error in errors if error is not None]
        if len(known) < len(logs) or free < 1:
            return raised(mean), None, "a run has too few seconds for an interval"
        error = math.sqrt(sum(e * e for e in known)) / len(logs)
    half = student(free) * error
    return raised(mean), around(mean, half), ""


def _asked(runs: Sequence[Pace]) -> float | None:
    asked = [one.asked_per_s for one in runs if one.asked_per_s is not None]
    return float(np.mean(asked)) if len(asked) == len(runs) else None


def _alone(runs: Sequence[Pace]) -> Interval | None:
    """Of the mean pace alone: over runs, or by the pieces of work of a run; None: not known."""
    alone = np.array([one.alone_per_s for one in runs])
    mean = float(alone.mean())
    if len(runs) >= RUNS_MIN:
        error, free = float(alone.std(ddof=1)) / math.sqrt(len(runs)), len(runs) - 1
        half = student(free) * error
    else:
        errors = [one.alone_error_per_s for one in runs]
        if any(error is None for error in errors):
            return None
        error = math.sqrt(sum((e or 0.0) ** 2 for e in errors)) / len(runs)
        half = normal() * error
    return Interval(lo=mean - half, hi=mean + half)


def findings(
    study: Study, parts: Sequence[Part], results: Sequence[ServiceFinding]
) -> tuple[FactorFinding, ...]:
    """What each service's neighbours kept, in words; nothing where no one reported progress.

    Args:
        study: with its factors.
        parts: all services under all combinations.
        results: of each part, in the same order.
    """
    made = []
    for label in dict.fromkeys(part.spec.label for part in parts):
        own = [
            (_under(part, study), _sentence_load(finding.kept))
            for part, finding in zip(parts, results, strict=True)
            if part.spec.label == label and finding.kept
        ]
        if own:
            made.append(_finding(label, own))
    return tuple(made)


def _sentence_load(each: Sequence[Kept]) -> Kept:
    """The load that is in the words: the nearest to `TOLD` of which something is known."""
    known = [one for one in each if one.share is not None] or list(each)
    return min(known, key=lambda one: (abs(one.fraction - SENTENCE_LOAD), one.fraction))


def _under(part: Part, study: Study) -> str:
    """The levels of other factors than the neighbour; "" if there are none."""
    called = names(study.factors)
    others = [(key, level) for key, level in part.levels.items() if key != "neighbour"]
    return ", ".join(f"{called[key]} = {level_text(level)}" for key, level in others)


def _finding(label: str, own: Sequence[tuple[str, Kept]]) -> FactorFinding:
    texts = [sentence(one) + (f" under {under}" if under else "") for under, one in own]
    more = len(texts) - SENTENCE_MAX
    tail = f"; {more} more stand in the table" if more > 0 else ""
    return FactorFinding(
        service=label,
        key=NAME,
        name=NAME,
        levels=tuple(", ".join(filter(None, (one.neighbour, under))) for under, one in own),
        effects=(),
        aliases=(),
        sentence=f"beside {label} {'; '.join(texts[:SENTENCE_MAX])}{tail}.",
    )


def sentence(one: Kept) -> str:
    """`xz kept 43 % (39 to 47 %) of its pace alone at 70 % load`."""
    at = f"at {load_share(one.fraction)} load"
    if one.share is None:
        return f"what {who(one)} kept of its pace alone {at} is unknown: {one.reason}"
    share = f"{percent(one.share)} ({sure(one)})"
    if is_held(one):
        of = f"{rate(one.asked_per_s or 0.0, one.unit)} that it was asked for"
        text = f"{who(one)} did {share} of the {of} {at}"
    else:
        text = f"{who(one)} kept {share} of its pace alone {at}"
    is_within = one.interval is not None and not one.is_across_runs
    return f"{text}, by the seconds of {_count(one.runs)} alone" if is_within else text


def who(one: Kept) -> str:
    """The neighbour to people: what it calls itself, or else the study's text."""
    return one.called if one.called not in {"", one.neighbour.partition(":")[0]} else one.neighbour


def is_held(one: Kept) -> bool:
    """Whether it was held to something, which is then what its share is of."""
    return one.asked_per_s is not None


def rate(per_s: float, unit: str) -> str:
    """A pace to people.

    >>> rate(4.04449, "files"), rate(49_987_000, "bytes")
    ('4.04 files/s', '50 MB/s')
    """
    return f"{per_s / 1e6:.3g} MB/s" if unit == "bytes" else f"{per_s:.3g} {unit}/s"


def sure(one: Kept) -> str:
    """Its interval in words, or why there is none."""
    ends = one.interval
    if ends is None:
        return one.reason
    return f"{percent(ends.lo).removesuffix(' %')} to {percent(ends.hi)}"


def _count(runs: int) -> str:
    return "one run" if runs == 1 else f"{runs} runs"
