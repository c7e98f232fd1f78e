"""A neural network that looks at an image: TailBench's img-dnn in our own terms (P4).

Weights and images are drawn from the seed; nothing is fetched or trained. What the answers must be
is computed here with numpy, in double precision.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn import late, programs
from sojourn.services.capabilities import Rows
from sojourn.services.kind import Allowance, Service, ServiceKind
from sojourn.services.params import Param, Value, settle
from sojourn.services.tailbench.queries import PARAMS as COMMON
from sojourn.services.tailbench.queries import PROGRAM, Queries, stream, threads_of, units

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late.module("numpy")

NAME = "img_dnn"
PIXELS, CLASSES = 784, 10
IMAGES = 1 << 32  # stream of the images; layers have those below
NEAR = 2e-3  # between single precision in lanes and double
FORM = re.compile(r"query +(\d+) class (\d)\nlogits((?: +-?\d+\.\d{4}){10})\n")
REPLY_BYTES = 132

PARAMS = (
    Param(
        name="hidden",
        about="width of each of the three hidden layers; 1152: about 0.7 ms a query",
        default=1152,
        lo=1,
        hi=16_384,
    ),
    *COMMON,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImgDnn(Queries):
    """One network whose parameters are settled."""

    hidden: int

    def setup(self) -> Rows:
        """Version, network and workers as (name, text), for people."""
        h = self.hidden
        weights = PIXELS * h + 2 * h * h + h * CLASSES
        return (
            ("version", self.version()),
            ("network", f"{PIXELS}-{h}-{h}-{h}-{CLASSES}, {4 * weights / 1e6:.3g} MB of weights"),
            ("queries", f"{self.queries} images, seed {self.seed}"),
            *self.why,
        )

    @property
    def work(self) -> tuple[str, ...]:
        """Flags of a forward pass of this width."""
        return ("--work", "img-dnn", "--hidden", str(self.hidden))

    @property
    def reply_bytes(self) -> int:
        """Length of a class and ten logits."""
        return REPLY_BYTES

    def is_answer(self, query: int, text: str) -> bool:
        """Whether class and logits are those of a forward pass in double precision."""
        match = FORM.fullmatch(text)
        if match is None or int(match.group(1)) != query:
            return False
        message = np.array([float(word) for word in match.group(3).split()])
        wanted = logits(self.seed, self.hidden, query)
        is_near = bool(np.all(np.abs(message - wanted) <= NEAR))
        return is_near and bool(wanted[int(match.group(2))] >= wanted.max() - NEAR)


def logits(seed: int, hidden: int, query: int) -> NDArray[np.float64]:
    """What the network says of an image, shape (10,)."""
    images = stream(seed, IMAGES)
    values = np.asarray(units(images, query * PIXELS, PIXELS).astype(np.float32), np.float64)
    layers = weights(seed, hidden)
    for layer in layers[:-1]:
        values = np.maximum(layer @ values, 0.0)
    return np.asarray(layers[-1] @ values, np.float64)


@functools.lru_cache(maxsize=2)
def weights(seed: int, hidden: int) -> tuple[NDArray[np.float32], ...]:
    """The layers, a row for each output."""
    widths = (PIXELS, hidden, hidden, hidden, CLASSES)
    made = []
    for nth, (inputs, outputs) in enumerate(itertools.pairwise(widths)):
        reach = np.sqrt(6.0 / (inputs + outputs))
        drawn = reach * (2.0 * units(stream(seed, nth), 0, inputs * outputs) - 1.0)
        made.append(np.asarray(drawn.astype(np.float32).reshape(outputs, inputs), np.float32))
    return tuple(made)


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    got = settle(NAME, PARAMS, inputs, cpus=allowance.cpus)
    threads, why = threads_of(got["threads"], allowance)
    return ImgDnn(
        path=programs.find(PROGRAM),
        threads=threads,
        queries=int(got["queries"] or 1),
        seed=int(got["seed"] or 0),
        port=int(got["port"] or 0),
        hidden=int(got["hidden"] or 1),
        why=why,
    )


KIND = ServiceKind(
    name=NAME,
    about="a neural network that looks at an image: TailBench's img-dnn, about 0.7 ms a query",
    params=PARAMS,
    needs=(f"{PROGRAM} (make build)",),
    source="PAPERS P4",
    build=build,
)
