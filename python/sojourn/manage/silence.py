"""For how long each service has had no window, or has answered nothing that waits.

A service that was killed has no client that waits: its connections are refused. So one without a
reply is silent too where its group has no process, or where it does not listen any more (`facts`).
"""

from __future__ import annotations

from sojourn.controllers.look import Group, Look
from sojourn.manage.facts import NO_PORT, NO_PROCESS, QUEUES
from sojourn.manage.unanswered import Unanswered

ACCEPT, RECEIVE = QUEUES
TARGETS = 2  # a service that takes so many targets for each request is not stuck before that


class Silence:
    """When the newest window of each service came, and when it answered last."""

    def __init__(self) -> None:
        """No service has had a window yet."""
        self._came_s: dict[str, float] = {}
        self._went_on_s: dict[str, float] = {}
        self._since_s: dict[str, float] = {}
        self._silent: set[str] = set()
        self._listened: set[str] = set()  # services that had a port at some look
        self._unanswered: dict[str, Unanswered] = {}

    def of(self, look: Look, now_s: float, since_s: float, silent_s: float) -> str:
        """Why a service counts as silent; "": none does.

        One that is silent has no more time where the source is opened anew, as a reload does.

        Args:
            look: that was taken just now.
            now_s: the time now, by any clock that does not jump.
            since_s: when the source of windows was opened, by the same clock.
            silent_s: without a window for longer than this, a service is silent. So it is when
                requests wait for longer and none is answered.
        """
        reasons = []
        for name, group in look.critical.items():
            self._take(name, group, now_s)
            if name not in self._silent:
                self._since_s[name] = since_s
            if why := self._reason(name, group, now_s, silent_s):
                reasons.append(why)
                self._silent.add(name)
            else:
                self._silent.discard(name)
        return next(iter(reasons), "")

    def _take(self, name: str, group: Group, now_s: float) -> None:
        """Remember when its newest window came, and when it answered at the earliest."""
        if ACCEPT in group.signals or RECEIVE in group.signals:
            self._listened.add(name)
        if not group.windows:
            return
        self._unanswered.setdefault(name, Unanswered()).take(group, now_s)
        came_s = now_s - min(window.age_ms for window in group.windows) / 1000
        self._came_s[name] = came_s
        if not is_stuck(group) and not self._gone(name, group):
            self._went_on_s[name] = came_s
            return
        # Several windows may come between two looks, and the replies are in one of the others.
        longer = (one.length_ms for one in group.windows if one.n)
        if (length_ms := min(longer, default=0)) > 0:
            answered_s = came_s - length_ms / 1000
            self._went_on_s[name] = max(self._went_on_s.get(name, answered_s), answered_s)

    def _reason(self, name: str, group: Group, now_s: float, silent_s: float) -> str:
        since_s = self._since_s[name]
        if now_s - max(since_s, self._came_s.get(name, since_s)) > silent_s:
            return f"no window came from {name} for {silent_s:g} s"
        longest_s = max(silent_s, TARGETS * (group.target_ns or 0.0) / 1e9)
        if now_s - max(since_s, self._went_on_s.get(name, since_s)) > longest_s:
            if gone := self._gone(name, group):
                return f"{name} answers nothing, because {gone}"
            return f"requests wait, and {name} answered none for {longest_s:g} s"
        if group.windows and (count := self._unanswered[name].count(longest_s)):
            return f"{count} requests of {name} have had no answer for {longest_s:g} s"
        return ""

    def _gone(self, name: str, group: Group) -> str:
        """Why it cannot answer, where its newest window has no request; "": it could."""
        why = group.missing.get(ACCEPT, "")
        is_known = why == NO_PROCESS or (why == NO_PORT and name in self._listened)
        return why if is_known and group.windows and not group.windows[0].n else ""


def is_stuck(group: Group) -> bool:
    """Whether the newest window has no reply although somebody waits for one.

    Who waits is said by whoever measures, or by the service's sockets. A service without requests
    is not stuck.
    """
    newest = group.windows[0]
    waits = [group.signals[name].value for name in QUEUES if name in group.signals]
    return newest.n == 0 and (bool(newest.waiting) or any(value > 0 for value in waits))
