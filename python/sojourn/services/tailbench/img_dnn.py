"""A neural network that looks at an image: TailBench's img-dnn in our own terms (P4).

Weights and images are drawn from the seed; nothing is fetched or trained. What the answers must be
is computed here with numpy, in double precision.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sojourn import late, programs
from sojourn.errors import HostFault
from sojourn.services.capabilities import Needs, Rows
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
WEIGHT_BYTES = 4
SHARE = 0.5  # of the memory that is free, for its weights and for the lab's own
BLOCK = 1 << 18  # weights that the lab takes at once, in numbers that are longer

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
        h, mb = self.hidden, weights_bytes(self.hidden) / 1e6
        return (
            ("version", self.version()),
            ("network", f"{PIXELS}-{h}-{h}-{h}-{CLASSES}, {mb:.3g} MB of weights"),
            ("queries", f"{self.queries} images, seed {self.seed}"),
            *self.why,
        )

    def needs(self) -> Needs:
        """What its weights take, beside what every service may have."""
        usual = Queries.needs(self)
        return replace(usual, memory_bytes=usual.memory_bytes + weights_bytes(self.hidden))

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
        values = np.maximum(_sums(layer, values), 0.0)
    return _sums(layers[-1], values)


@functools.lru_cache(maxsize=2)
def weights(seed: int, hidden: int) -> tuple[NDArray[np.float32], ...]:
    """The layers, a row for each output."""
    widths = (PIXELS, hidden, hidden, hidden, CLASSES)
    made = []
    for nth, (inputs, outputs) in enumerate(itertools.pairwise(widths)):
        reach, count = np.sqrt(6.0 / (inputs + outputs)), inputs * outputs
        layer = np.empty(count, np.float32)
        for first in range(0, count, BLOCK):
            drawn = units(stream(seed, nth), first, min(BLOCK, count - first))
            layer[first : first + BLOCK] = reach * (2.0 * drawn - 1.0)
        made.append(layer.reshape(outputs, inputs))
    return tuple(made)


def _sums(layer: NDArray[np.float32], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a layer makes of values, in double precision; some rows of it at a time."""
    outputs, inputs = layer.shape
    rows = max(1, BLOCK // inputs)
    parts = (layer[first : first + rows] @ values for first in range(0, outputs, rows))
    return np.concatenate(list(parts))


def weights_bytes(hidden: int) -> int:
    """Memory that the weights of a network take."""
    return WEIGHT_BYTES * hidden * (PIXELS + 2 * hidden + CLASSES)


def check_memory(hidden: int, allowance: Allowance) -> None:
    """Refuse a network that does not fit, once as the service and once as the lab's own.

    Raises:
        HostFault: so it is.
    """
    wanted, room = 2 * weights_bytes(hidden), int(allowance.memory_bytes * SHARE)
    if wanted > room:
        raise HostFault(
            f"weights of {wanted >> 21} MiB, which the lab has as well, do not fit: memory allows "
            f"{room >> 20} MiB for both",
            at=f"service {NAME}, hidden = {hidden}",
            fix="give a smaller width, or free memory",
        )


def build(inputs: Mapping[str, Value], allowance: Allowance) -> Service:
    """Settle the parameters for this machine."""
    got = settle(NAME, PARAMS, inputs, cpus=allowance.cpus)
    threads, why = threads_of(got["threads"], allowance)
    hidden = int(got["hidden"] or 1)
    check_memory(hidden, allowance)
    return ImgDnn(
        path=programs.find(PROGRAM),
        threads=threads,
        queries=int(got["queries"] or 1),
        seed=int(got["seed"] or 0),
        port=int(got["port"] or 0),
        hidden=hidden,
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
