"""What is undecided of classes is not denied."""

from __future__ import annotations

from sojourn.findings.testing import made
from sojourn.models.classify import rules
from sojourn.models.classify.answer import Answer, Class, Word
from sojourn.models.classify.section import Classes
from sojourn.report.openings import classes


def of(word: str) -> Class:
    answer = Answer(question="critical resource", word=word, why="", by="")
    return made(Class, service="m", critical=answer, scalable=answer)


def test_a_resource_that_is_undecided_is_not_denied() -> None:
    both = made(Classes, of=(of(Word.UNDECIDED), of(Word.UNDECIDED)), papers=())
    assert next(classes.sentences(both)) == "Which resource is critical is undecided."
    one = made(Classes, of=(of(rules.NETWORK), of(Word.UNDECIDED)), papers=())
    assert next(classes.sentences(one)) == "The critical resource is network of m."
