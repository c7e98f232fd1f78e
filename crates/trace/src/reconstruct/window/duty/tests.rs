use super::*;
use sojourn_base::rng::{self, RngExt as _};

/// A saturated service on which hooks take a share of its time while they are attached; attaching and
/// detaching take 5 ms of the tracer's time.
struct Machine {
    lost: f64,
    noise: f64,
    rng: rng::Rng,
}

impl Machine {
    fn new(lost: f64, noise: f64) -> Self {
        Self { lost, noise, rng: rng::stream(2, "machine", 0) }
    }

    /// What it does in `ns`: a segment takes 3 us without hooks.
    fn runs(&mut self, ns: f64, is_attached: bool) -> Work {
        let free = if is_attached { 1.0 - self.lost } else { 1.0 };
        let factor = 1.0 + self.noise * (2.0 * self.rng.random::<f64>() - 1.0);
        Work { cpu_ns: ns, segments: ns * free * factor / 3000.0 }
    }

    /// Windows as `run` draws them, for `seconds`: what follows the cost, and the time attached.
    fn trace(&mut self, asked: f64, seconds: f64, drain_ns: f64) -> (Duty, f64) {
        let (mut duty, mut draw) = (Duty::new(asked, seconds * 1e9), Draw::new(9));
        let (mut now, mut attached) = (0.0, 0.0);
        loop {
            let (from, length) = duty.next(&mut draw);
            let (start, length) = ((from as f64).max(now + 1e7), length as f64);
            if start + length > seconds * 1e9 {
                return (duty, attached);
            }
            let attached_ns = length + 5e6 + drain_ns;
            let (outside, inside) = (self.runs(start - now, false), self.runs(attached_ns, true));
            let traced = self.runs(length, true);
            let own_ns = 5e6;
            duty.add(&Turn { outside, inside, traced, length_ns: length, attached_ns, own_ns });
            (now, attached) = (start + attached_ns, attached + attached_ns);
        }
    }
}

/// Whatever hooks cost on this service, tracing takes what was asked for: both parts together.
#[test]
fn duty_follows_the_cost_that_is_asked() {
    for (lost, asked) in [(0.22, 0.02), (0.22, 0.1), (0.05, 0.02), (0.4, 0.01), (0.22, 0.005)] {
        let (duty, attached) = Machine::new(lost, 0.05).trace(asked, 240.0, 4e6);
        let taken = (lost * attached + duty.own_ns) / 240e9;
        assert!((0.7 * asked..1.1 * asked).contains(&taken), "{lost} {asked}: {taken}");
    }
}

#[test]
fn half_of_the_time_is_the_most_however_cheap() {
    let (_, attached) = Machine::new(0.0, 0.01).trace(0.5, 20.0, 1e6);
    assert!(attached < 0.51 * 20e9, "{attached}");
    assert!(attached > 0.4 * 20e9, "{attached}");
}

#[test]
fn a_default_trace_of_ten_seconds_has_windows_enough() {
    let (duty, _) = Machine::new(0.22, 0.1).trace(0.02, 10.0, 3e6);
    assert!(duty.windows >= 9.0, "{}", duty.windows);
}

/// Where hooks cost next to nothing, windows are many rather than long.
#[test]
fn a_short_trace_of_a_cheap_service_has_windows_enough() {
    let (duty, _) = Machine::new(0.02, 0.05).trace(0.1, 4.0, 1e6);
    assert!(duty.windows >= 10.0, "{}", duty.windows);
    assert!(duty.length_ns / duty.windows < 2e8, "{}", duty.length_ns);
}

/// What attaching and detaching hold up is a smaller share of a longer trace, at the same cost.
#[test]
fn a_long_trace_attaches_less_often() {
    let beside = |seconds| {
        let (duty, attached) = Machine::new(0.22, 0.1).trace(0.02, seconds, 3e6);
        ((attached - duty.length_ns) / (seconds * 1e9), duty.windows)
    };
    let ((short, _), (long, windows)) = (beside(10.0), beside(80.0));
    assert!(long < 0.25 * short && windows >= 18.0, "{short} {long} {windows}");
}

/// A request that takes a second holds the hooks for that long: the next windows pay for it.
#[test]
fn a_long_drain_is_paid_back() {
    let (duty, attached) = Machine::new(0.2, 0.05).trace(0.02, 120.0, 8e8);
    let taken = (0.2 * attached + duty.own_ns) / 120e9;
    assert!(taken < 0.024, "{taken}");
}

#[test]
fn the_cost_is_measured_with_an_interval_that_holds_it() {
    let (duty, attached) = Machine::new(0.22, 0.1).trace(0.05, 30.0, 3e6);
    let truth = 0.22 * attached / 30e9;
    let cost = duty.cost(30e9, duty.own_ns);
    let interval = cost.interval.unwrap();
    assert!(interval.low < truth && truth < interval.high.unwrap(), "{truth} {cost:?}");
    assert!((cost.measured.unwrap() / truth - 1.0).abs() < 0.3, "{truth} {cost:?}");
    assert!(!cost.is_assumed);
    let Estimate { value, se, .. } = duty.cpu_ratio().unwrap();
    assert!((value - 1.0 / (1.0 - 0.22)).abs() < 4.0 * se && se < 0.05, "{value} {se}");
}

/// An idle service says nothing of what hooks cost it: it is assumed, and the result says so.
#[test]
fn nothing_is_measured_where_nothing_is_done() {
    let mut duty = Duty::new(0.02, 1e9);
    let turn = Turn { length_ns: 2e7, attached_ns: 3e7, own_ns: 5e6, ..Turn::default() };
    (0..10).for_each(|_| duty.add(&turn));
    let cost = duty.cost(1e9, 5e7);
    assert_eq!((cost.measured, cost.is_assumed, cost.while_attached), (None, true, ASSUMED));
    assert!((cost.tracer_cpu_ratio - 0.05).abs() < 1e-12);
}

#[test]
fn hours_of_windows_are_stored_in_bounded_memory() {
    let (duty, _) = Machine::new(0.1, 0.05).trace(0.1, 600.0, 1e6);
    assert!(duty.windows > MOST as f64 && duty.turns.len() < MOST, "{}", duty.windows);
}
