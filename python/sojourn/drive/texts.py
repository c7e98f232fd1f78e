"""Input of batch programs, from a seed: words as in a language, and a source text."""

from __future__ import annotations

import random
from collections.abc import Callable


def prose(size: int, seed: int) -> bytes:
    """Words as in a language: few of them often, most seldom (Zipf), so that it compresses.

    >>> len(prose(1000, 1)), prose(1000, 1) == prose(1000, 1), prose(1000, 1) == prose(1000, 2)
    (1000, True, False)
    """
    lot = random.Random(seed)  # noqa: S311  # not a secret
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(lot.choices(letters, k=lot.randint(1, 9))) for _ in range(4000)]
    odds = [1 / rank for rank in range(1, len(words) + 1)]
    text = " ".join(lot.choices(words, odds, k=size // 2 + 1))
    return text.encode()[:size]


def source(size: int, seed: int) -> bytes:
    """C++ that asks nothing of headers: functions of loops and branches, at least `size` long."""
    lot = random.Random(seed)  # noqa: S311  # not a secret
    parts: list[str] = ["template <int N> struct Fold { static long of(long x) {"]
    parts.append("return Fold<N - 1>::of(x * N + 1); } };")
    parts.append("template <> struct Fold<0> { static long of(long x) { return x; } };")
    count = 0
    while sum(map(len, parts)) < size:
        a, b, c = (lot.randint(2, 97) for _ in range(3))
        calls = f"f{lot.randrange(count)}(a + i)" if count else "a"
        parts.append(
            f"long f{count}(long a) {{ long s = {a}; for (long i = 0; i < {b}; i++) {{"
            f" switch (i % 4) {{ case 0: s += a * i; break; case 1: s ^= i << {c % 7}; break;"
            f" default: s -= Fold<{a % 9}>::of(s) % {c}; }} if (s > {a * b}) s -= {calls}; }}"
            " return s; }"
        )
        count += 1
    return "\n".join(parts).encode()


TEXTS: dict[str, Callable[[int, int], bytes]] = {"prose": prose, "source": source}
