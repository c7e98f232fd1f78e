"""A row of the co-location table: a service beside one neighbour at one load."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Beside(BaseModel):
    """What happens beside one neighbour at one load."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    neighbour: str = Field(
        min_length=1,
        description="Name; 'none' for the service alone, 'mean' for the mean of all.",
    )
    load: float = Field(ge=0, le=1, description="Service load, share of its peak alone.")
    tail_ns: float | None = Field(
        default=None, gt=0, description="Tail of the service's sojourn time; null: not measured."
    )
    tail_lo_ns: float | None = Field(
        default=None,
        gt=0,
        description="Lower end of its 95 % interval; null: tail_ns itself. Without tail_ns, the "
        "least that the tail can be.",
    )
    tail_hi_ns: float | None = Field(
        default=None, gt=0, description="Upper end; null: tail_ns itself, or not known without it."
    )
    throughput: float | None = Field(
        default=None, ge=0, le=1, description="The neighbour's, alone = 1; null: not measured."
    )
    throughput_lo: float | None = Field(
        default=None, ge=0, le=1, description="Lower end of its 95 % interval; null: itself."
    )
    throughput_hi: float | None = Field(
        default=None, ge=0, le=1, description="Upper end of its 95 % interval; null: itself."
    )

    @model_validator(mode="after")
    def _ends_enclose(self) -> Beside:
        for name in ("tail", "throughput"):
            unit = "_ns" if name == "tail" else ""
            parts = (f"{name}_lo{unit}", f"{name}{unit}", f"{name}_hi{unit}")
            known = [value for part in parts if (value := getattr(self, part)) is not None]
            if known != sorted(known):
                raise ValueError(f"{' <= '.join(parts)} does not hold: {known}")
        return self

    @property
    def tail_least_ns(self) -> float | None:
        """The least that the tail can be, ns; None: nothing is known of it."""
        return self.tail_ns if self.tail_lo_ns is None else self.tail_lo_ns

    @property
    def tail_most_ns(self) -> float | None:
        """The most that it can be, ns; None: it is not bounded."""
        return self.tail_ns if self.tail_hi_ns is None else self.tail_hi_ns

    @property
    def throughput_least(self) -> float | None:
        """The least that the neighbour can have achieved; None: not measured."""
        return self.throughput if self.throughput_lo is None else self.throughput_lo

    @property
    def throughput_most(self) -> float | None:
        """The most that it can have achieved; None: not measured."""
        return self.throughput if self.throughput_hi is None else self.throughput_hi
