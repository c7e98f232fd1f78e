"""Made-up findings of this question, something decided in them and something open."""

from __future__ import annotations

from sojourn.questions.attribution import judge as attribution
from sojourn.questions.testing_state import NARROW, WIDE, Made, made, of_study
from sojourn.stats.interval import Interval
from sojourn.stats.quantile_regression import Fit, Term


def found() -> Made:
    """A service with a fit, and one without."""

    def term(interval: Interval, *names: str) -> Term:
        return made(Term, factors=names, interval=interval)

    tail = (term(NARROW, "a"), term(WIDE, "b"), term(NARROW, "a", "b"))
    fits = tuple(made(Fit, q=q, terms=tail) for q in (0.5, 0.99))
    some = attribution.Attributed(levels=(("a", "1", "2"), ("b", "1", "2")), fits=fits)
    none = attribution.Attributed(levels=(("a", "1", "2"),))
    whole = of_study("attribution", attribution.Attributions(of=(some, none)))
    return Made(whole, 1, 3, "factors")
