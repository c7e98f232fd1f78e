"""For how long each service has had no window."""

from __future__ import annotations

from sojourn.controllers.look import Look


class Silence:
    """When the newest window of each service came."""

    def __init__(self) -> None:
        """No service has had a window yet."""
        self._came_s: dict[str, float] = {}

    def of(self, look: Look, now_s: float, since_s: float, silent_s: float) -> str:
        """Why a service counts as silent; "": none does.

        Args:
            look: that was taken just now.
            now_s: the time now, by any clock that does not jump.
            since_s: when the source of windows was opened, by the same clock.
            silent_s: without a window for longer than this, a service is silent.
        """
        for name, group in look.critical.items():
            if group.windows:
                age_ms = min(window.age_ms for window in group.windows)
                self._came_s[name] = now_s - age_ms / 1000
            if now_s - max(since_s, self._came_s.get(name, since_s)) > silent_s:
                return f"no window came from {name} for {silent_s:g} s"
        return ""
