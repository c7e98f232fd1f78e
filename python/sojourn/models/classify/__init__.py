"""What kind of service one is: scalable or not, SMT-sensitive or not, and which resource it needs.

    record or planted → scenarios → signs (levels, trends) → rules → class, with what to do

scenario:  samples of a service with n threads
evidence:  means and trends with intervals
signs:     the paper's Table 3, told from samples
rules:     the paper's findings, from signs alone
judge:     what was carried has the last word where it is known
published: the papers' nine services, and how the rules agree with them
planted:   services of known class
record:    what was measured here
held:      planted services that were really run, beside what they are
"""

from sojourn.models.classify.answer import Action, Answer, Class, Route, Seen, Word
from sojourn.models.classify.judge import classify
from sojourn.models.classify.scenario import Carried, Scenario

__all__ = [
    "Action",
    "Answer",
    "Carried",
    "Class",
    "Route",
    "Scenario",
    "Seen",
    "Word",
    "classify",
]
