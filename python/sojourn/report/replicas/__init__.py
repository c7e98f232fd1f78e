"""The page of replicated figures: our curve, the paper's numbers and the verdict side by side."""

from sojourn.report.replicas.page import html

__all__ = ["html"]
