"""How the tasks of a neighbour are ordered among others: by nice value, or only where no one waits.

The command sets it before the program begins, so everything that the program starts inherits it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sojourn import programs
from sojourn.services.params import Param

NICE, POLICY = "nice", "policy"
OTHER = "other"
POLICIES = (OTHER, "batch", "idle")

NICE_PARAM = Param(
    name=NICE,
    about="nice value of its tasks",
    default="0",
    type=str,
    pattern=r"-?1?\d|-20",
    allowed="-20 to 19",
)
POLICY_PARAM = Param(
    name=POLICY,
    about="scheduling policy of its tasks; idle: only when no other task wants the CPU",
    default=OTHER,
    type=str,
    choices=POLICIES,
)


def command(params: Mapping[str, str], argv: Sequence[str]) -> tuple[str, ...]:
    """The command under the order that its parameters ask for.

    Args:
        params: `nice` and `policy`, as texts; what lacks is the kernel's default.
        argv: the program and its arguments.

    Raises:
        HostFault: `nice` or `chrt` is not installed.
    """
    words = tuple(argv)
    if (nice := params.get(NICE, "0")) != "0":
        words = (str(programs.find("nice", fix="apt install coreutils")), "-n", nice, *words)
    if (policy := params.get(POLICY, OTHER)) != OTHER:
        chrt = str(programs.find("chrt", fix="apt install util-linux"))
        words = (chrt, f"--{policy}", "0", *words)
    return words
