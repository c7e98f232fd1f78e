"""What the layers of the one picture of all services share: rows, axes, colours, and its state."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.report.draw.axes import TimeAxis
from sojourn.report.draw.charts import alt
from sojourn.report.draw.figure import Sheet

FADED = 0.08  # what is left of a service that is not picked in the legend


@dataclass(frozen=True, slots=True)
class Frame:
    """What all layers of the overview share: data, axes and scales."""

    sheet: Sheet
    axis: TimeAxis
    x: alt.X
    y: alt.Y
    colour: alt.Color
    shape: alt.Shape
    only: alt.Parameter
    hot: alt.Parameter

    def opacity(self, full: float = 1.0) -> alt.OpacityValue:
        """What is not picked in the legend fades."""
        picked = {"param": self.only.name, "value": full}
        return alt.OpacityValue(FADED * full, condition=picked)

    def width(self, thin: float) -> alt.StrokeWidthValue:
        """What is under the pointer gets broader."""
        is_hot = f"datum.service === {self.hot.name}"
        return alt.StrokeWidthValue(thin, condition={"test": is_hot, "value": 2 * thin})
