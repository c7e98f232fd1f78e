"""Whether machines called equal are alike, by facts that their runs noted."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from sojourn.analysis.block_values import Combinations
from sojourn.findings.effects import FactorFinding
from sojourn.host.shared import KERNEL, MACHINE
from sojourn.spec.hosts import SERVER
from sojourn.visible import in_line


def unlike(service: Combinations) -> str:
    """That the machines have unlike CPUs or quotas, and which; "" if none is known to differ."""
    differ = _differ(service, MACHINE)
    return f"the machines are unlike: {differ}" if differ else ""


def kernels(service: Combinations) -> str:
    """That the machines have unlike kernels, and which; "" if none is known to differ."""
    differ = _differ(service, KERNEL)
    return f"they differ by their kernels too: {differ}" if differ else ""


def with_sentence(service: Combinations, result: FactorFinding) -> FactorFinding:
    """The finding, and in its sentence what holds for machines like these.

    Of another factor, its effect on the measured machines comes first.
    """
    texts = [*(one.sentence for one in result.equal), kernels(service)]
    text = "; ".join(filter(None, texts))
    if result.key != SERVER:
        these = f"on these {len(service.levels(SERVER))} machines alone"
        sentence = f"{result.sentence[:-1]}, {these}; {text}."
    elif unlike(service):
        sentence = f"{result.sentence[:-1]}; {text}."
    else:
        sentence = f"{service.label}: {text}."
    return replace(result, sentence=sentence)


def _differ(service: Combinations, what: str) -> str:
    """Which machines have which text of a fact: `n1, n2: 6.1.0; n3: 6.8.0`; "" if all have one."""
    machines: dict[str, dict[str, None]] = defaultdict(dict)
    for part in service.parts:
        rows = dict(part.data.setups.get(part.spec.label, ()))
        if what in rows:
            machines[in_line(rows[what])][str(part.levels[SERVER])] = None
    if len(machines) < 2:
        return ""
    return "; ".join(f"{', '.join(names)}: {text}" for text, names in machines.items())
