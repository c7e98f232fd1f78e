"""The paper's rules on levels and trends, one function an answer (P1, P12, P16, P17).

They take `Signs` and nothing else, so the same code judges a service that was measured here and a
row of the paper's Table 3.

Source: Pons et al., FGCS 2022, sections 6.1, 6.2 and "To take away" below section 6.4 for what
tells the findings, 7.1 for the groups, the boxes "Cloud provider actions" for what to do.
"""

from __future__ import annotations

from sojourn.models.classify.answer import Action, Route, Word
from sojourn.models.classify.signs import Level, Signs, Trend

CPU, CPU_YES, CPU_NO = "CPU", "CPU, scalable", "CPU, not scalable"
BANDWIDTH, NETWORK = "memory bandwidth", "network"
DISK_READ, DISK_WRITE = "disk, reading", "disk, writing"
GROUPS = {  # of Table 4; memory is CPU time there (7.1: stalls count as use)
    CPU_YES: ("CPU", "scalable"),
    CPU_NO: ("CPU", "non-scalable"),
    BANDWIDTH: ("CPU", "non-scalable"),
    DISK_READ: ("disk", "read"),
    DISK_WRITE: ("disk", "write"),
    NETWORK: ("network", "streaming"),
}


def scalable(signs: Signs) -> Route:
    """Whether more threads carry more load (finding 1).

    Section 6.4: "non-scalable […] applications present medium to low CPU utilization in the
    low-threaded scenarios, that drastically drops in the 8-threaded scenarios. […] scalable
    [ones] present a significant increase in the main memory bandwidth".

    Where the two contradict each other, and where memory bandwidth does not grow although threads
    stay busy, nothing is reported: threads that wait for memory or spin on a lock look busy too.
    """
    if signs.memory is Level.HIGH and signs.memory_trend is Trend.FLAT:
        return Route(word=Word.NO, why="memory bandwidth is used up: more threads move no more")
    sharp = signs.cpu_trend is Trend.SHARP
    if signs.memory_trend is Trend.RISES:
        if sharp:
            why = (
                "its CPU use drops sharply, but memory bandwidth grows: they contradict each other"
            )
            return Route(word=Word.UNDECIDED, why=why)
        return Route(word=Word.YES, why="memory bandwidth grows with threads")
    if sharp and signs.memory_trend is Trend.FLAT:
        return Route(word=Word.NO, why="its CPU use drops sharply and memory bandwidth stays")
    if sharp and signs.network is not Level.HIGH:
        return Route(word=Word.NO, why="its CPU use drops sharply; memory bandwidth was not seen")
    return Route(word=Word.UNDECIDED, why=_open(signs))


def _open(signs: Signs) -> str:
    """Why more threads' worth is open."""
    if signs.cpu_trend is Trend.UNKNOWN and signs.memory_trend is Trend.UNKNOWN:
        return "no trend could be determined"
    if signs.memory_trend is Trend.FLAT:
        return "threads stay busy while memory bandwidth does not grow: waiting or spinning?"
    if signs.cpu_trend is Trend.SHARP:
        return "its CPU use drops sharply, but it streams: the network may be what grows"
    return "without memory bandwidth, busy threads may work, wait for memory, or spin"


def smt_sensitive(signs: Signs, scales: str) -> Route:
    """Whether it carries less when threads share cores in pairs (finding 2).

    Section 6.1: "SMT insensitive applications present a low CPU utilization (e.g., below 20%)
    regardless of the number of threads", with masstree, which does not scale, the exception;
    "SMT sensitive applications present a medium to high CPU utilization". A thread that runs a
    fifth of the time meets its sibling a fifth of the time.

    Args:
        signs: of the service.
        scales: whether it is scalable, a `Word`, by whatever way that was found.
    """
    if scales == Word.NO:
        return Route(word=Word.NO, why="what does not scale gains nothing from cores of its own")
    is_low = signs.cpu is Level.LOW
    if is_low and signs.cpu_top in {Level.LOW, Level.UNKNOWN}:
        more = "" if signs.cpu_top is Level.LOW else ", as far as was seen"
        return Route(word=Word.NO, why=f"its CPU use is below 20 %{more}: siblings rarely conflict")
    if is_low:
        return Route(word=Word.UNDECIDED, why="its CPU use is below 20 % only with few threads")
    if signs.cpu is Level.UNKNOWN:
        return Route(word=Word.UNDECIDED, why="its CPU use cannot be separated from 20 %")
    if scales == Word.YES:
        return Route(word=Word.YES, why="it scales and uses its CPUs: siblings would conflict")
    return Route(word=Word.UNDECIDED, why="it uses its CPUs, but whether it scales is undecided")


def critical(signs: Signs, scales: str) -> Route:
    """The resource that it is about, in the groups of Table 4 (7.1), memory bandwidth by itself.

    What is used up comes first; then network and disk where they stand out, as in Table 4, where
    moses and xapian are disk services although they use much CPU; then CPU.

    Args:
        signs: of the service.
        scales: whether it is scalable, a `Word`.
    """
    if signs.memory is Level.HIGH:
        return Route(word=BANDWIDTH, why="three quarters of the samples are above 80 % of it")
    if signs.network is Level.HIGH:
        return Route(word=NETWORK, why="it streams: the others' use of the network is negligible")
    if signs.disk in {Level.MEDIUM, Level.HIGH} and signs.is_reader is not None:
        word, what = (DISK_READ, "at least") if signs.is_reader else (DISK_WRITE, "less than")
        why = f"most of the time it uses the disk, and {what} four fifths of that is reading"
        return Route(word=word, why=why)
    return _cpu(signs, scales)


def _cpu(signs: Signs, scales: str) -> Route:
    """CPU, where neither network nor disk stands out; or that nothing does."""
    if scales == Word.NO:
        return Route(word=CPU_NO, why="it uses neither network nor disk much, and does not scale")
    if Level.UNKNOWN in {signs.network, signs.disk} or signs.cpu in {Level.UNKNOWN, Level.LOW}:
        return Route(word=Word.UNDECIDED, why=_nothing(signs))
    if scales == Word.YES:
        return Route(
            word=CPU_YES, why="it uses its CPUs, neither network nor disk much, and scales"
        )
    why = "it uses its CPUs, neither network nor disk much; whether it scales is undecided"
    return Route(word=CPU, why=why)


def _nothing(signs: Signs) -> str:
    """Why no resource is named."""
    hidden = [n for n in ("network", "disk", "cpu") if getattr(signs, n) is Level.UNKNOWN]
    if hidden:
        named = " and ".join("CPU" if name == "cpu" else name for name in hidden)
        return f"its use of {named} is not known"
    return "none that is counted is used much: it waits for something else"


def actions(scales: str, smt: str, resource: str, signs: Signs) -> tuple[Action, ...]:
    """What the paper advises a provider to do (P12).

    Args:
        scales: whether it is scalable, a `Word`.
        smt: whether it is SMT-sensitive.
        resource: the critical one.
        signs: of the service.
    """
    results = []
    if scales == Word.NO:
        results.append(
            Action(
                what="confine it to two logical CPUs, and give the others away",
                why="it does not scale",
                source="section 5.3, cloud provider actions",
            )
        )
    if smt == Word.NO:
        results.append(
            Action(
                what="pack its threads in pairs on the siblings of a core: half the cores will do",
                why="it is not SMT-sensitive",
                source="section 5.3, finding 2",
            )
        )
    if resource == BANDWIDTH or (scales == Word.YES and signs.memory_trend is Trend.RISES):
        results.append(
            Action(
                what="give it more ways of the last-level cache, and memory bandwidth enough",
                why="memory bandwidth is used up"
                if resource == BANDWIDTH
                else "it scales, and its memory bandwidth grows",
                source="sections 7.2 and 7.3",
            )
        )
    if resource in {DISK_READ, DISK_WRITE}:
        loss = "it loses more load than bandwidth" if resource == DISK_WRITE else "it loses less"
        results.append(
            Action(
                what="place it on a machine with a lightly loaded disk",
                why=f"it is a disk service; beside writers {loss}",
                source="section 7.4",
            )
        )
    if resource == NETWORK:
        results.append(
            Action(
                what="keep the network over-provisioned: it comes in peaks",
                why="it streams",
                source="section 6.4",
            )
        )
    return tuple(results)
