"""`sojourn classify --paper` and `--planted`: the rules held against what is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn.cli.draw import to_stdout
from sojourn.cli.models_show import end, print_table
from sojourn.cli.plain import put_json

if TYPE_CHECKING:
    from sojourn.models.classify.published import Agreement


def paper(*, as_json: bool, has_details: bool) -> None:
    """The paper's nine services, by its own tables."""
    from sojourn.models.classify import published

    agreements, simple = published.agreements(), published.simple()
    if as_json:
        sights = [{"sight": one.sight, "rows": one.rows} for one in agreements]
        put_json(
            {
                "label": "computed",
                "sights": sights,
                "rules_of_one_sensor": simple,
                "by_load": published.by_load(),
            }
        )
    else:
        _print_paper(agreements, has_details=has_details)
    end("violated" if any(row.is_wrong for row in agreements[0].rows) else "holds")


def _print_paper(agreements: Sequence[Agreement], *, has_details: bool) -> None:
    from sojourn.models.classify import published

    console = to_stdout()
    console.print("computed from Tables 3 and 4 of Pons et al., FGCS 2022 (P16, P17)\n")
    questions = [answer.question for answer in agreements[0].classes[0].answers]
    rows = [
        (one.sight, *(_counted(*one.counts(question)) for question in questions))
        for one in agreements
    ]
    print_table(console, ("what is seen", *questions), rows)
    console.print(
        "\nThe rules were read from these nine: agreement says that they stand here as the paper"
        " has them, not that they hold of others. What one sensor alone would have missed:\n"
    )
    table = [
        (
            question,
            f'"yes" where {rule}',
            f"{right} of {len(published.TABLE)}",
            ", ".join(missed) or "none",
        )
        for question, rule, right, missed in published.simple()
    ]
    print_table(console, ("answer", "rule", "right", "misses"), table)
    console.print("\nby the loads that its text gives (P10), which have no intervals:\n")
    loads = [
        (name, question, f"{ends.value:.3g} times", ours, paper)
        for name, question, ends, ours, paper in published.by_load()
    ]
    print_table(console, ("service", "answer", "load", "here", "paper"), loads)
    if has_details:
        console.print()
        details = [(row.service, row.question, row.ours, row.paper) for row in agreements[0].rows]
        print_table(console, ("service", "answer", "here", "paper"), details)


def _counted(right: int, undecided: int, wrong: Sequence[str]) -> str:
    parts = [f"{right} right"]
    parts += [f"{undecided} undecided"] if undecided else []
    parts += [f"wrong: {', '.join(wrong)}"] if wrong else []
    return ", ".join(parts)


def planted_ones(*, as_json: bool) -> None:
    """Simulated services of known class."""
    import numpy as np

    from sojourn.models.classify import classify as judge
    from sojourn.models.classify import planted

    rng = np.random.default_rng(20220128)
    results = [
        (known, judge(known.name, [planted.scenario(known.service, n, rng) for n in (1, 8)]))
        for known in planted.TABLE
    ]
    wrong = [
        known.name
        for known, report in results
        if [answer.word for answer in report.answers] != [known.scalable, known.smt, known.critical]
    ]
    if as_json:
        both = [{"truth": known, "found": reported} for known, reported in results]
        put_json({"label": "simulated", "wrong": wrong, "classes": both})
    else:
        console = to_stdout()
        console.print("simulated: 30 s of samples with 1 and with 8 threads of each service\n")
        rows = [
            (
                known.name,
                *(answer.word for answer in notice.answers),
                "wrong" if known.name in wrong else "right",
            )
            for known, notice in results
        ]
        head = ("planted", *(answer.question for answer in results[0][1].answers), "")
        print_table(console, head, rows)
        console.print(f"\n{len(results) - len(wrong)} of {len(results)} right")
    end("violated" if wrong else "holds")
