"""Made-up findings about factors and about many services."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sojourn.findings.effects import Effect, FactorFinding, Trend
from sojourn.findings.findings import Findings, ServiceFinding
from sojourn.report import testing, testing_use
from sojourn.stats.interval import Interval

GZIP, PLACE = "services.nginx.params.gzip", "services.memcached.place"
ITEMS = "services.memcached.params.items"
TAIL, PEAK = "p99 at 60 % load", "max RPS"


def effect(
    level: str,
    ratio: float | None,
    lo: float = 0,
    hi: float = 0,
    *,
    what: str = TAIL,
    base: str = "false",
    gate: float | None = None,
    is_noise: bool = False,
    doubt: str = "",
) -> Effect:
    """One ratio; without one it says why."""
    ends = Interval(lo=lo, hi=hi) if ratio is not None else None
    return Effect(
        what=what,
        is_time=what != PEAK,
        base=base,
        level=level,
        ratio=ratio,
        interval=ends,
        coverage=0.95,
        blocks=3,
        reason="" if ends else "no block has valid runs",
        doubt=doubt,
        sentence="",
        noise_gate=gate,
        is_noise=is_noise,
    )


def factor(
    key: str,
    name: str,
    levels: Sequence[str],
    *effects: Effect,
    service: str = "nginx",
    trends: tuple[Trend, ...] = (),
) -> FactorFinding:
    """What a factor does to a service."""
    return FactorFinding(
        service=service,
        key=key,
        name=name,
        levels=tuple(levels),
        effects=effects,
        aliases=(),
        sentence="",
        trends=trends,
    )


def of_factors(*factors: FactorFinding) -> Findings:
    """A study with these, and two combinations."""
    base = testing.findings()
    keys = [(one.key, one.levels[0]) for one in factors]
    service = replace(
        testing.nginx(), label=factors[0].service, levels=tuple(keys), service="nginx, x"
    )
    return replace(base, services=(service, service), sections={}, factors=factors)


def settings() -> Findings:
    """One setting that costs, one that does nothing, one of which nothing can be reported."""
    return of_factors(
        factor(
            GZIP,
            "gzip",
            ("false", "true"),
            effect("true", 1.97, 1.19, 3.27, gate=1.2),
            effect("true", 0.54, 0.46, 0.64, what=PEAK),
        ),
        factor(
            "services.nginx.params.sendfile",
            "sendfile",
            ("true", "false"),
            effect("false", 0.98, 0.9, 1.07, base="true"),
            effect("false", 1.01, 0.93, 1.09, base="true", what=PEAK),
        ),
        factor(
            "services.nginx.params.access_log",
            "access_log",
            ("false", "true"),
            effect("true", 2.02, 0.12, 34.1),
        ),
    )


def places() -> Findings:
    """Places that are within the noise, one far beyond, one without runs."""
    levels = ("local", "netns", "runc", "vm")
    some = [
        effect("netns", 0.92, 0.5, 1.6, base="local", gate=1.4, is_noise=True),
        effect("runc", None, base="local"),
        effect("vm", 60.0, 32.0, 140.0, base="local"),
    ]
    return of_factors(factor(PLACE, "place", levels, *some, service="memcached"))


def unseen() -> Findings:
    """Nothing but intervals that answer nothing."""
    both = [effect("true", 2.02, 0.12, 34.1), effect("true", 0.9, 0.3, 2.9, what=PEAK)]
    return of_factors(factor(GZIP, "gzip", ("false", "true"), *both))


def trend(kind: str, *curve: tuple[float, float, float], between: tuple[str, ...] = ()) -> Trend:
    """A trend over four sizes."""
    named = curve[-1]
    return Trend(
        what=TAIL,
        kind=kind,
        levels=("1000", "64000", "256000", "1024000"),
        blocks=3,
        ratio=None if kind == "flat" else named[0],
        interval=None if kind == "flat" else Interval(lo=named[1], hi=named[2]),
        sentence=f"{TAIL} is {kind}",
        between=between,
        curve=((1.0, 1.0, 1.0), *curve),
    )


def trends(kind: str) -> Findings:
    """A study of sizes whose tail goes like this."""
    flat = ((1.01, 0.96, 1.06), (0.99, 0.94, 1.04), (1.0, 0.95, 1.05))
    up = ((1.02, 0.9, 1.15), (1.1, 0.95, 1.3), (4.2, 3.1, 5.6))
    shape = flat if kind == "flat" else up
    between = ("256000", "1024000") if kind in {"knee", "cliff"} else ()
    one = trend(kind, *shape, between=between)
    levels = one.levels
    return of_factors(
        factor(
            ITEMS,
            "items",
            levels,
            *(effect(level, 1.1, 0.9, 1.4) for level in levels[1:]),
            service="memcached",
            trends=(one,),
        )
    )


def tailbench(*, swept: bool = True) -> Findings:
    """Four services on one core, as a machine of two CPUs can host them."""
    names = ("img_dnn", "ordered_map", "silo", "xapian")
    return replace(
        testing.findings(),
        services=tuple(_service(name, swept=swept) for name in names),
        sections={},
    )


def _service(name: str, *, swept: bool) -> ServiceFinding:
    base = testing.memcached()
    return replace(
        base,
        service=f"{name}, cores = 1",
        label=name,
        kind=name,
        levels=(("services.each.cores", "1"),),
        points=base.points if swept else (),
        resources=testing_use.both_sides(),
    )


def in_places() -> Findings:
    """Three services, each in two places that differ in one part."""
    services = [
        replace(
            testing.nginx(),
            label=name,
            service=f"{name}, {level}",
            levels=(("services.each.place", f"vm:restored+{level}+ovs"),),
            setup=(("emulated", "KVM runs no guest"),),
        )
        for name in ("nginx", "memcached", "redis")
        for level in ("ceph", "nbd")
    ]
    services[1] = replace(services[1], is_axis_valid=False)
    return replace(testing.findings(), services=tuple(services), sections={}, factors=())
