"""Why a run is not believed: three words for a line, and the one action that helps.

A reason begins with the name of its check (`client stopped: the client did not run for …`), so the
name finds both. The sentence itself comes once, with all runs that share it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.plan.points import Course
from sojourn.samples.reading import SHIELD_HELPS

TITLE_WORDS = 3  # of a check's name; a longer beginning is a sentence
WORDS_MAX = 24  # characters of a reason in a line


@dataclass(frozen=True, slots=True)
class About:
    """A kind of reason.

    Attributes:
        words: what happened, in at most three words.
        action: what would help most; "" where nothing helps but another run.
        has_share: the first percentage of the reason says how much.
    """

    words: str
    action: str = ""
    has_share: bool = False


_OWN_CPU = "give the client a CPU on which nothing else runs"
_SLOWER = "lower the load, or give the client more CPUs"
_LONGER = "measure longer: a longer --profile, or a larger run.measure_s"
_LIMIT = "raise the service's limit for this client"
_TARGET = "check the target and what it answers: `sojourn try TARGET`"

KINDS: Mapping[str, About] = {
    # checks of the generator (crates/load/src/judge/selfcheck)
    "client stopped": About("client stopped", f"end other programs, or {_OWN_CPU}", has_share=True),
    "outage log": About("client stopped", f"end other programs, or {_OWN_CPU}"),
    "server stopped": About("server stopped", "use CPUs that nothing else shares", has_share=True),
    "send lag": About("client sent late", _OWN_CPU, has_share=True),
    "timely": About("client sent late", _SLOWER),
    "poll gap": About("client polled late", _SLOWER),
    "cpu": About("client CPU full", "give the client more CPUs"),
    "rate": About("rate was off", _SLOWER, has_share=True),
    "plan fit": About("plan not Poisson", "report the seed: it is an error of the generator"),
    "arrival fit": About("arrivals not Poisson", _OWN_CPU),
    "dispersion": About("sent in clumps", _OWN_CPU),
    "requests": About("all requests excluded", f"end other programs, or {_OWN_CPU}"),
    "overrun": About("run ended early", _SLOWER),
    "plan": About("plan used up", "raise requests_max"),
    "server lost": About("server was lost", "see service.log in the point's folder"),
    "connections": About("connections refused", "ask for fewer, or raise the server's limit"),
    "protocol": About("no valid reply", _TARGET),
    "replies": About("wrong replies", _TARGET, has_share=True),
    "content": About("wrong reply bodies", _TARGET),
    "rate limit": About("rate limited", _LIMIT, has_share=True),
    "qos": About("target was missed"),
    # checks of the lab
    "client": About("clients' CPU full", "give the clients more CPUs", has_share=True),
    "server disturbed": About(
        "others ran",
        "end other programs, or give the server CPUs of its own",
        has_share=True,
    ),
    "neighbour died": About("neighbour died", "see the neighbour's log in the point's folder"),
    "unstable": About("not steady", _LONGER),
    "overloaded": About("queue grows", "ask for less load: this is more than is served"),
    "cold start": About("warm-up too short", "lengthen warmup_s"),
    "undecided alone": About("too few requests", _LONGER),
    "too few requests": About("too few requests", _LONGER),
    "borderline": About("near the target", _LONGER),
}

_COURSES = {Course.COLD: "cold start", Course.MOVES: "unstable", Course.GROWS: "overloaded"}

WRONG_LENGTH = re.compile(r"\d+% of the replies were not \d+ bytes long")

_FAILED = "lower the load, raise the timeout, or give a target that decides how many may fail"

# Reasons that begin with a number or a name of the study's own, and those of "replies" in which no
# reply was wrong.
_PATTERNS: tuple[tuple[re.Pattern[str], About], ...] = (
    (
        WRONG_LENGTH,
        About(
            "wrong reply length",
            "accept replies of any length: --any-length, in a study params.expect_bytes = 0",
            has_share=True,
        ),
    ),
    (
        re.compile(r"replies: [\d.]+ % of requests failed"),
        About("requests failed", _FAILED, has_share=True),
    ),
    (re.compile(r"replies: no request succeeded"), About("no request succeeded", _TARGET)),
    (re.compile(r"replies: overload"), KINDS["overloaded"]),
    (
        re.compile(r"requests: no request was due|rate: the plan is"),
        About("run too short", _LONGER),
    ),
    (
        re.compile(rf"server disturbed: .*{SHIELD_HELPS}$"),
        About("others ran", f"end other programs, {SHIELD_HELPS}", has_share=True),
    ),
    (
        re.compile(r"neighbour \S+ did not hold its intensity: it finished no piece"),
        About("neighbour's pace unknown", _LONGER),
    ),
    (re.compile(r"neighbour \S+ did not hold"), About("neighbour not held")),
    (re.compile(r"\S+ not in force"), About("setting not applied", "see `sojourn doctor`")),
)
_SHARE = re.compile(r"(\d+(?:\.\d+)?) ?%")


def topic(reason: str) -> str:
    """What a reason is about: the words before its colon; the whole if it has no short title.

    >>> topic("client stopped: the client did not run for 1.4 s"), topic("nothing was answered")
    ('client stopped', 'nothing was answered')
    """
    title, colon, _ = reason.partition(": ")
    return title if colon and len(title.split()) <= TITLE_WORDS else reason


def of_course(course: Course) -> str:
    """The words for a run that was not in steady state; "" for one that was.

    >>> of_course(Course.COLD), of_course(Course.STEADY)
    ('warm-up too short', '')
    """
    title = _COURSES.get(course)
    return KINDS[title].words if title else ""


def about(reason: str) -> About | None:
    """The kind of a reason; None where it is a sentence of its own."""
    special = next((kind for pattern, kind in _PATTERNS if pattern.match(reason)), None)
    return special or KINDS.get(topic(reason))


def is_of_replies(reason: str) -> bool:
    """Whether a run failed because of what the target answers: longer ones would as well.

    >>> is_of_replies("content: 9 of 10 replies had an empty body"), is_of_replies("cpu: 93 %")
    (True, False)
    """
    kind = about(reason)
    return kind is not None and kind.action == _TARGET


def share(reason: str) -> float | None:
    """How much, as a share of one, where the kind of reason has it; else None.

    >>> share("server stopped: the hypervisor took 50 % of the time"), share("nothing answered")
    (0.5, None)
    """
    kind = about(reason)
    match = _SHARE.search(reason) if kind and kind.has_share else None
    return float(match[1]) / 100 if match else None


def short(reason: str, most: int = WORDS_MAX) -> str:
    """A reason in three words and its amount, in at most `most` characters.

    >>> short("client stopped: the client did not run for 47 ms: 2.37 % of the time, 1 % may be")
    'client stopped 2.4 %'
    >>> short("server stopped: the hypervisor took 4.1 % of the time, 1.0 % may be")
    'server stopped 4.1 %'
    >>> short("10% of the replies were not 191 bytes long, as the first ones were; take any")
    'wrong reply length 10 %'
    >>> short("memcached ended with exit code 1 while load ran, saying: out of memory")
    'memcached ended with…'
    """
    kind, amount = about(reason), share(reason)
    words = kind.words if kind else topic(reason)
    if amount is not None:
        words = f"{words} {float(f'{100 * amount:.2g}'):g} %"
    if len(words) <= most:
        return words
    cut = textwrap.shorten(words, most, placeholder="…")
    return cut if len(cut) > 1 else f"{words[: most - 1]}…"


def sentence(reason: str) -> str:
    """A reason without the name of its check, and without the fix where the table has one.

    >>> sentence("cpu: the busiest thread used 93 % of a CPU, 80 % may be; add threads")
    'the busiest thread used 93 % of a CPU, 80 % may be'
    """
    text = reason.removeprefix(topic(reason)).removeprefix(": ") or reason
    kind = about(reason)
    return text.rpartition("; ")[0] or text if kind and kind.action else text
