"""Combinations of levels of which a study has no answer, each with its reason, for all who ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sojourn.plan.setting import Setting, level_text
from sojourn.spec.levels import short

if TYPE_CHECKING:
    from sojourn.spec import Study

SKIPPED, ABANDONED, BY_DESIGN = "skipped", "given up", "left out"
OLD_FIX = "mend"  # the key of `fix` in files of earlier versions


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """One combination of one service.

    Attributes:
        state: "skipped": this machine cannot host it; "given up": the service failed under it again
            and again; "left out": the study says so itself.
        service: label; "" for all of them.
        levels: of the factors that the service feels.
        reason: in words.
        fix: what would change that; "" if nothing is known to.
    """

    state: str
    service: str
    levels: Setting = field(default_factory=Setting)
    reason: str
    fix: str = ""

    @property
    def who(self) -> str:
        """Service and levels in words, such as `memcached, place = runc`."""
        texts = (f"{short(key)} = {level_text(level)}" for key, level in self.levels.items())
        return ", ".join(filter(None, (self.service, *texts)))

    @property
    def text(self) -> str:
        """`skipped: memcached, place = runc: program runc is missing; apt install runc`."""
        return f"{self.state}: {self.who}: {self.why}"

    @property
    def why(self) -> str:
        """The reason, and what would change it."""
        return "; ".join(filter(None, (self.reason, self.fix)))

    @property
    def table(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "state": self.state,
            "service": self.service,
            "levels": dict(self.levels),
            "reason": self.reason,
            "fix": self.fix,
        }

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> LeftOut:
        """The combination that a `table` reports."""
        return cls(
            state=str(table["state"]),
            service=str(table["service"]),
            levels=Setting.of(table["levels"]),
            reason=str(table["reason"]),
            fix=str(table.get("fix", table.get(OLD_FIX, ""))),
        )


def by_design(study: Study) -> tuple[LeftOut, ...]:
    """What the study itself leaves out."""
    return tuple(
        LeftOut(state=BY_DESIGN, service="", levels=Setting.of(cell), reason=reason)
        for cell, reason in study.design.of_profile(study.run.profile).left_out(study.factors)
    )


def without(study: Study, left: Iterable[LeftOut]) -> Study:
    """The study without these combinations; nothing else about it changes, no draw and no order."""
    return study.without((one.service, one.levels) for one in left)
