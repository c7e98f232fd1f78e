"""Who is accused, cleared and left open where the truth is known: simulated windows, many times.

Usage: .venv/bin/python bench/blame/truth.py [--studies 200] [--blocks 8] [--suspects 2]

Windows differ by a fate of their own and by a drift of the machine from block to block; requests in
one share its fate. Culprits multiply all times, and two of them hide each other: the tail is the
worse one's. Prints, for each scene, how many studies accused somebody innocent, named each culprit,
and cleared somebody guilty.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.random import Generator

from sojourn.questions.blame import randomisation as blame
from sojourn.questions.blame.plan import State, states
from sojourn.questions.blame.randomisation import Floats
from sojourn.questions.blame.suspects import CLEARED, GUILTY, judged

Q, MATTERS = 0.99, 1.25
REQUESTS = 2000
#: Scene → how many times as long each suspect makes requests; what is missing is innocent.
SCENES: dict[str, tuple[float, ...]] = {
    "nobody": (),
    "one, 1.5 times": (1.5,),
    "one, 2 times": (2.0,),
    "one, 4 times": (4.0,),
    "two, 4 times each": (4.0, 4.0),
}


def window(rng: Generator, times: float, drift: float) -> Floats:
    """Sojourn times of a window, ns."""
    fate = drift * rng.lognormal(0.0, 0.2)
    return np.asarray(rng.exponential(1e5 * times * fate, REQUESTS), float)


def words(rng: Generator, harms: tuple[float, ...], blocks: int, count: int) -> list[str]:
    """The verdict on each suspect of one study."""
    drift = np.exp(np.cumsum(rng.normal(0, 0.1, blocks)))
    every = frozenset(range(count))
    state: State = frozenset()

    def harm(stopped: State) -> float:
        return max([1.0, *(h for n, h in enumerate(harms) if n not in stopped)])

    results = [{s: window(rng, harm(s), d) for s in states(count)} for d in drift]
    asked = [(state, frozenset({n})) for n in range(count)]
    asked += [(every - {n}, every) for n in range(count)] if count > 1 else []
    contrasts = blame.corrected(
        [blame.contrast([(b[x], b[y]) for b in results], Q, seed=1) for x, y in asked]
    )
    alone = contrasts[count:] or [None] * count
    return [judged(str(n), contrasts[n], alone[n], MATTERS).word for n in range(count)]


def main() -> None:
    """Print a line for each scene."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--suspects", type=int, default=2)
    args = parser.parse_args()
    print(f"{args.studies} studies, {args.blocks} blocks, {args.suspects} suspects")
    print(f"{'scene':<20} {'innocent accused':>17} {'culprits named':>15} {'culprits cleared':>17}")
    for number, (scene, harms) in enumerate(SCENES.items()):
        rng = np.random.default_rng([7, number])
        accused = named = cleared = 0
        for _ in range(args.studies):
            text = words(rng, harms, args.blocks, args.suspects)
            accused += GUILTY in text[len(harms) :]
            named += sum(word == GUILTY for word in text[: len(harms)])
            cleared += sum(word == CLEARED for word in text[: len(harms)])
        of = max(1, args.studies * len(harms))
        shares = (accused / args.studies, named / of, cleared / of)
        print(f"{scene:<20} {shares[0]:>17.1%} {shares[1]:>15.1%} {shares[2]:>17.1%}")


if __name__ == "__main__":
    main()
