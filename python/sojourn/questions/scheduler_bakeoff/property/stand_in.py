"""A process that replaces a service: a small program under the levels of its knobs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from sojourn import knobs
from sojourn.knobs import Knob, Offered, Turned
from sojourn.knobs.probe import Probe

#: Knobs that say how the kernel orders a service's threads; others are left out.
ORDERING = tuple(name for name, kind in knobs.KINDS.items() if kind.orders)

#: Burns CPU time for some windows, from the instant that it is told on: what it got in each, s.
HOG = """
count, length_s = int(sys.argv[1]), float(sys.argv[2])
began, used = float(told.strip()), []
while time.monotonic() < began: pass
for nth in range(count):
    base_s = time.process_time()
    while time.monotonic() < began + (nth + 1) * length_s: pass
    used.append(time.process_time() - base_s)
say(used_s=used)
"""

#: Is due at fixed instants and sleeps until each: how late it ran for each of them, s. One that
#: could not run for a while is late for all that were due meanwhile.
WAKER = """
count, gap_s = int(sys.argv[1]), float(sys.argv[2])
ctypes.CDLL(None).prctl(29, 1)  # PR_SET_TIMERSLACK, ns
began = float(told.strip())
late = []
for nth in range(count):
    due = began + (nth + 1) * gap_s
    time.sleep(max(0.0, due - time.monotonic()))
    late.append(time.monotonic() - due)
say(late_s=late)
"""


class StandIn(Probe):
    """One such process, which a knob takes for a service: it has a session of its own."""

    has_session = True


@contextlib.contextmanager
def under(
    probe: Probe,
    label: str,
    levels: Mapping[str, str],
    on: Turned,
    offered: Mapping[str, Offered],
) -> Iterator[Mapping[str, Knob]]:
    """Put a process under levels for a while; what they were is in the book.

    Args:
        probe: that waits.
        label: of the service that it replaces.
        levels: of knobs, by name; those that order no threads are left out.
        on: what the service's own knobs are on, for the book and the machine.
        offered: what each service would be offered, for levels that follow from it.

    Raises:
        HostFault: the machine refuses one.
    """
    # Under a name of its own: a scheduler of ours keeps whom it serves by label.
    turned = replace(on, label=f"{label}-stand-in", leader=probe.pid, shared={})
    inputs = {name: levels[name] for name in knobs.KINDS if name in ORDERING and name in levels}
    with contextlib.ExitStack() as stack:
        built: dict[str, Knob] = {}
        for name, level in inputs.items():
            knob = knobs.kind(name).build(turned)
            stack.callback(knob.restore)
            knob.apply(level)
            knob.among(label, offered)
            built[name] = knob
        yield built
