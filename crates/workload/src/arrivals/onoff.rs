//! Bursts: Poisson arrivals during "on", silence during "off"; the mean rate is stored.
//!
//! The phases have fixed lengths, like a square wave (PAPERS L18), and start at a random point of
//! the cycle, which the seed decides. During "on" the rate is (on + off)/on times the mean. Phase
//! lengths are at the mean rate: under a rate schedule they stretch where the load is lower.

use sojourn_base::Fault;
use sojourn_base::kind::{Kind, Param};
use sojourn_base::rng::{Rng, RngExt, open_unit};
use sojourn_base::units::parse_ns;

use super::{ArrivalKind, ArrivalProcess, Process};

const USAGE: &str = "onoff:ON,OFF (onoff:10ms,90ms)";

#[derive(Debug)]
struct OnOff {
    /// Expected arrivals in one "on" phase, which is also the mean number per cycle.
    per_cycle: f64,
    on_share: f64,
    /// Expected arrivals since the start of the cycle in which the last arrival was; `None` before
    /// the first.
    at: Option<f64>,
}

impl OnOff {
    /// Operational time, in mean gaps, at which `expected` arrivals are expected.
    fn time_of(&self, expected: f64) -> f64 {
        let cycles = (expected / self.per_cycle).floor();
        // Within a cycle arrivals come at 1/on_share times the mean rate, and then none.
        cycles * self.per_cycle + (expected - cycles * self.per_cycle) * self.on_share
    }
}

impl ArrivalProcess for OnOff {
    fn next_gap(&mut self, rng: &mut Rng) -> f64 {
        let (from, before) = self.at.map_or_else(
            || {
                // A random moment of the cycle: in "off" it is the end of the "on" before it.
                let moment = rng.random::<f64>() * self.per_cycle;
                ((moment / self.on_share).min(self.per_cycle), moment)
            },
            |at| (at, self.time_of(at)),
        );
        let next = from - open_unit(rng).ln();
        self.at = Some(next % self.per_cycle);
        // Counted from the cycle of the last arrival, so that no precision is lost in long runs.
        self.time_of(next) - before
    }
    /// Of whole cycles: Poisson. (Windows shorter than a cycle see the bursts.)
    fn dispersion(&self) -> f64 {
        1.0
    }
}

pub(super) const KIND: ArrivalKind = ArrivalKind {
    kind: Kind {
        name: "onoff",
        about: "Poisson bursts with silence between them; the mean rate does not change",
        usage: USAGE,
        params: &[
            Param {
                name: "on",
                unit: "time",
                about: "length of a burst",
                default: "",
                range: "> 0",
            },
            Param {
                name: "off",
                unit: "time",
                about: "silence after it",
                default: "",
                range: ">= 0",
            },
        ],
        needs: &[],
        source: "METHOD M1; PAPERS L18",
    },
    build,
};

fn build(text: &str, rate_rps: f64) -> Result<Process, Fault> {
    let wrong = |what: String| Fault::usage(what, "onoff", format!("write {USAGE}"));
    let (on, off) = text
        .split_once(',')
        .ok_or_else(|| wrong(format!("'{text}' names no two lengths with ',' between them")))?;
    let read = |text: &str| parse_ns(text).map_err(|fault| wrong(fault.what));
    let (on_ns, off_ns) = (read(on)? as f64, read(off)? as f64);
    if on_ns == 0.0 {
        return Err(wrong("a burst is 0 long".into()));
    }
    let per_cycle = rate_rps * (on_ns + off_ns) / 1e9;
    Ok(Box::new(OnOff { per_cycle, on_share: on_ns / (on_ns + off_ns), at: None }))
}

#[cfg(test)]
mod tests {
    use sojourn_base::rng::stream;

    use super::*;

    #[test]
    fn arrivals_come_only_in_bursts_of_the_stated_length() {
        // 1000 rps, 10 ms in each 100 ms: all arrivals within a tenth of the cycle.
        let mut process = build("10ms,90ms", 1000.0).unwrap();
        let mut rng = stream(3, "onoff", 0);
        let mut at = 0.0;
        let times: Vec<f64> = (0..100_000)
            .map(|_| {
                at += process.next_gap(&mut rng);
                at // in mean gaps of 1 ms: ms
            })
            .collect();
        // The phase is unknown: find where in the cycle the first burst starts after a silence.
        let silence = times.windows(2).find(|pair| pair[1] - pair[0] > 80.0).unwrap()[1];
        let late = |t: &&f64| (*t - silence).rem_euclid(100.0) > 10.0;
        // `silence` is a burst's first arrival, so a burst may begin a little before it.
        let share = times.iter().filter(late).count() as f64 / times.len() as f64;
        assert!(share < 0.15, "{share}");
        let gaps = times.windows(2).filter(|pair| pair[1] - pair[0] > 80.0).count() as f64;
        assert!((gaps / 1000.0 - 1.0).abs() < 0.01, "one silence per cycle of 100: {gaps}");
    }
}
