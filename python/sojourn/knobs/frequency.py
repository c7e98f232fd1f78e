"""The frequency of all CPUs: governor, energy preference, turbo, and bounds (cpufreq; L8).

    "governor:performance"    "epp:balance_performance"    "turbo:off"    "max:2.4GHz"    "min:1GHz"

joined by "+". It is felt by a burner on one CPU, whose frequency must be within what is asked: not
above the nominal frequency without turbo. With the governor performance it must not be below the
nominal one, and holds from 90 % of the bound on. What lies between only reads back: the bound may
be what one busy core reaches, and all together less. A governor that follows load, and an energy
preference, only read back.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from sojourn.host.capacity import CPU_DIR
from sojourn.host.tree import Tree
from sojourn.knobs.knob import Asked, Felt, KnobKind, Lack
from sojourn.knobs.limit import no_effect
from sojourn.knobs.machine import Machine, only_read, unwritable
from sojourn.knobs.probe import BURN, Probe

NAME = "frequency"
GOVERNOR, EPP, TURBO, MAX, MIN = "governor", "epp", "turbo", "max", "min"
FILES = {
    GOVERNOR: "scaling_governor",
    EPP: "energy_performance_preference",
    MAX: "scaling_max_freq",
    MIN: "scaling_min_freq",
}
NO_TURBO, BOOST = f"{CPU_DIR}/intel_pstate/no_turbo", f"{CPU_DIR}/cpufreq/boost"
BURN_S = 0.3
SLACK = 1.02
NEARLY = 0.9
MOST_KHZ = 2**32 - 1
HZ = r"\d+(\.\d+)?[MG]Hz"
PART = rf"governor:[a-z_]+|epp:[a-z_]+|turbo:(?:on|off)|(?:max|min):{HZ}"


class Frequency(Machine):
    """What the CPUs' frequencies may be."""

    name, by = NAME, "cpufreq, sysfs, all CPUs"

    def read(self) -> str:
        """Governor of the first CPU."""
        tree = self._on.tree
        governor = next((tree.text(f"{at}/scaling_governor") for at in _folders(tree)), None)
        return f"{GOVERNOR}:{governor}" if governor else ""

    def wanted(self, level: str) -> Sequence[tuple[str, str]]:
        """Files of all CPUs; LookupError where one of them is not there."""
        return _files(self._on.tree, level)

    def effect(self) -> Felt:
        """Let a CPU burn that the lab may run on, and look at its frequency."""
        tree = self._on.tree
        folders = {int(at.split("/")[-2].removeprefix("cpu")): at for at in _folders(tree)}
        if not tree.is_live:
            return judge(parts(self._level), _facts(tree, next(iter(folders.values()))))
        usable = os.sched_getaffinity(0)
        cpu = next((one for one in folders if one in usable), None)
        if cpu is None:
            return only_read("the lab may run on none of these CPUs")
        with Probe(BURN, 1, BURN_S) as probe:
            probe.on({cpu}).go()
            probe.hear(BURN_S / 2)
            return judge(parts(self._level), _facts(tree, folders[cpu]))


def judge(asked: Mapping[str, str], facts: Mapping[str, int]) -> Felt:
    """Whether a burning CPU's frequency is what was asked.

    Args:
        asked: the level's parts.
        facts: kHz: "now", "most" (its upper bound), "nominal"; what is not known is not there.
    """
    now = facts.get("now")
    above = [_khz(asked[MAX])] if MAX in asked else []
    below = [_khz(asked[MIN])] if MIN in asked else []
    if asked.get(TURBO) == "off" and "nominal" in facts:
        above.append(facts["nominal"])
    sure, hoped = _performing(asked, facts)
    below += sure
    if now is None or not (above or below or hoped):
        return only_read("its effect does not show in a frequency")
    text = f"a burning CPU ran at {now / 1e6:.2f} GHz"
    if any(now > most * SLACK for most in above) or any(now < least / SLACK for least in below):
        return no_effect(text)
    if any(now < least / SLACK for least in hoped):
        return only_read(f"{text}, which may be the most that its cores reach together")
    return Felt(holds=True, why=text)


def _performing(asked: Mapping[str, str], facts: Mapping[str, int]) -> tuple[list[int], list[int]]:
    """What a CPU must reach, and what one alone may reach, with the governor performance: kHz."""
    most, nominal = facts.get("most"), facts.get("nominal")
    if asked.get(GOVERNOR) != "performance" or most is None:
        return [], []
    if nominal is None:
        return [], [int(NEARLY * most)]
    if asked.get(TURBO) == "off":
        most = min(most, nominal)
    return [int(NEARLY * min(most, nominal))], [int(NEARLY * most)]


def parts(level: str) -> dict[str, str]:
    """A level's parts, by what they are about."""
    return dict(part.split(":", 1) for part in level.split("+"))


def _files(tree: Tree, level: str) -> list[tuple[str, str]]:
    """What a level writes: (path, text), for each CPU."""
    results = []
    for what, value in _steps(tree, level):
        if what == TURBO:
            results += [_turbo(tree, value)]
            continue
        text = str(_khz(value)) if what in (MAX, MIN) else value
        results += [(f"{folder}/{FILES[what]}", text) for folder in _folders(tree)]
    return results


def _steps(tree: Tree, level: str) -> list[tuple[str, str]]:
    """A level's parts in an order that the kernel takes, however they are typed.

    A governor decides which energy preferences there are. A bound must not pass the other one as it
    still is, so the upper one goes first, unless it falls below the lower one.
    """
    asked = parts(level)
    lows = [tree.number(f"{folder}/{FILES[MIN]}") or 0 for folder in _folders(tree)]
    is_falling = MAX in asked and _khz(asked[MAX]) < max(lows, default=0)
    order = (GOVERNOR, EPP, TURBO, *((MIN, MAX) if is_falling else (MAX, MIN)))
    return [(what, asked[what]) for what in order if what in asked]


def _facts(tree: Tree, folder: str) -> dict[str, int]:
    names = {"now": "scaling_cur_freq", "most": "scaling_max_freq", "nominal": "base_frequency"}
    results = {name: tree.number(f"{folder}/{file}") for name, file in names.items()}
    mhz = tree.number(f"{folder.removesuffix('/cpufreq')}/acpi_cppc/nominal_freq")
    results["nominal"] = results["nominal"] or (mhz or 0) * 1000 or None  # AMD, Arm
    return {name: khz for name, khz in results.items() if khz is not None}


def _turbo(tree: Tree, value: str) -> tuple[str, str]:
    """The file that switches it, which differs by driver."""
    if tree.exists(NO_TURBO):
        return NO_TURBO, "0" if value == "on" else "1"
    return BOOST, "1" if value == "on" else "0"


def _folders(tree: Tree) -> list[str]:
    cpus = [name for name in tree.names(CPU_DIR) if name.startswith("cpu") and name[3:].isdigit()]
    folders = (f"{CPU_DIR}/{cpu}/cpufreq" for cpu in cpus)
    return [folder for folder in folders if tree.exists(f"{folder}/scaling_governor")]


def _khz(text: str) -> int:
    scale = 1e6 if text.endswith("GHz") else 1e3
    return round(float(text[:-3]) * scale)


def refuses(level: str) -> str:
    """Why no CPU runs so.

    >>> refuses("max:2GHz+min:3GHz"), refuses("max:0GHz"), refuses("min:1GHz+max:2GHz")
    ('the least frequency is more than the most', 'a frequency is more than 0', '')
    >>> refuses("turbo:on+turbo:off"), refuses("max:5000GHz")
    ('turbo occurs twice', 'the kernel counts kHz to 4294967295')
    """
    words = [part.partition(":")[0] for part in level.split("+")]
    if twice := next((word for word in words if words.count(word) > 1), ""):
        return f"{twice} occurs twice"
    asked = {what: _khz(value) for what, value in parts(level).items() if what in (MAX, MIN)}
    if not all(asked.values()):
        return "a frequency is more than 0"
    if any(khz > MOST_KHZ for khz in asked.values()):
        return f"the kernel counts kHz to {MOST_KHZ}"
    is_empty = asked.get(MIN, 0) > asked.get(MAX, asked.get(MIN, 0))
    return "the least frequency is more than the most" if is_empty else ""


def lacks(asked: Asked) -> Lack | None:
    """cpufreq, what a part of the level names, and the right to write it."""
    tree, folders = asked.tree, _folders(asked.tree)
    if not folders:
        return Lack(missing="cpufreq", fix="bare metal: hypervisors keep it for themselves")
    for what, value in parts(asked.level).items():
        if what == TURBO and not tree.exists(_turbo(tree, value)[0]):
            return Lack(missing="a switch for turbo")
        if what in FILES and not tree.exists(f"{folders[0]}/{FILES[what]}"):
            return Lack(missing=f"{FILES[what]} of cpufreq", fix="another cpufreq driver")
        known = tree.text(f"{folders[0]}/scaling_available_governors")
        if what == GOVERNOR and known is not None and value not in known.split():
            return Lack(missing=f"governor {value}", fix=f"give one of {known}")
    return unwritable(asked, _files(tree, asked.level))


KIND = KnobKind(
    name=NAME,
    about="frequency of all CPUs: governor, energy preference, turbo and bounds",
    level='"governor:performance", "epp:power", "turbo:off", "max:2.4GHz", "min:1GHz"; joined by +',
    pattern=rf"(?:{PART})(?:\+(?:{PART}))*",
    needs=("root", "cpufreq (bare metal)"),
    source="L8, and M23",
    refuses=refuses,
    lacks=lacks,
    build=Frequency,
)
