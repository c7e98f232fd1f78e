"""For how long each service has had no window, or has answered nothing that waits."""

from __future__ import annotations

from sojourn.controllers.look import Group, Look

QUEUES = ("accept_queue", "receive_queue_bytes")
TARGETS = 2  # a service that takes so many targets for each request is not stuck before that


class Silence:
    """When the newest window of each service came."""

    def __init__(self) -> None:
        """No service has had a window yet."""
        self._came_s: dict[str, float] = {}
        self._went_on_s: dict[str, float] = {}

    def of(self, look: Look, now_s: float, since_s: float, silent_s: float) -> str:
        """Why a service counts as silent; "": none does.

        Args:
            look: that was taken just now.
            now_s: the time now, by any clock that does not jump.
            since_s: when the source of windows was opened, by the same clock.
            silent_s: without a window for longer than this, a service is silent. So it is when
                requests wait for longer and none is answered.
        """
        for name, group in look.critical.items():
            if group.windows:
                age_ms = min(window.age_ms for window in group.windows)
                self._came_s[name] = now_s - age_ms / 1000
                if not is_stuck(group):
                    self._went_on_s[name] = self._came_s[name]
            if now_s - max(since_s, self._came_s.get(name, since_s)) > silent_s:
                return f"no window came from {name} for {silent_s:g} s"
            longest_s = max(silent_s, TARGETS * (group.target_ns or 0.0) / 1e9)
            if now_s - max(since_s, self._went_on_s.get(name, since_s)) > longest_s:
                return f"requests wait, and {name} answered none for {longest_s:g} s"
        return ""


def is_stuck(group: Group) -> bool:
    """Whether the newest window has no reply although somebody waits for one.

    Who waits is said by whoever measures, or by the service's sockets. A service that nobody asks
    is not stuck.
    """
    newest = group.windows[0]
    waits = [group.signals[name].value for name in QUEUES if name in group.signals]
    return newest.n == 0 and (bool(newest.waiting) or any(value > 0 for value in waits))
