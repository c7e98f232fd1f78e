"""The page of replicated figures: our curve, the paper's numbers and the verdict side by side."""

from sojourn.report.replicas.page import html
from sojourn.report.replicas.text import lines

__all__ = ["html", "lines"]
