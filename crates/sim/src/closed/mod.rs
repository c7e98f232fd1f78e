//! Closed forms: what queueing theory knows exactly, and approximations that say so.
//!
//! One file per model; [`KINDS`] is the table. Times are ns, rates are per ns, so that nothing
//! here has to know a unit. A sojourn time is waiting plus service.

mod fanout;
mod hedge;
mod md1;
mod mg1;
mod mgn;
mod mm1;
mod mmn;
mod ps;

pub use fanout::max_of;
pub use hedge::hedged;
pub use md1::Md1;
pub use mmn::{MmN, erlang_c};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_base::kind::Kind;
use sojourn_base::with_quantiles;

/// The queue that a formula is asked about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Arrivals per ns; Poisson.
    pub rate_per_ns: f64,
    /// Mean service time, ns.
    pub service_ns: f64,
    /// Squared coefficient of variation of the service time.
    pub service_scv: f64,
    /// Whether the service time is exponential, not merely as variable.
    pub is_exponential: bool,
    /// Servers.
    pub servers: u32,
    /// First come, first served; otherwise processor sharing.
    pub is_fcfs: bool,
}

impl Model {
    /// Offered work over capacity, ρ: stable below 1.
    pub fn utilisation(&self) -> f64 {
        self.rate_per_ns * self.service_ns / f64::from(self.servers)
    }
}

with_quantiles! {
    /// What one formula says about the sojourn time, ns. Quantiles are `null` where it gives none.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Closed of f64 {
        /// The formula's name, as in `--describe`.
        pub model: String,
        /// False for an approximation.
        pub exact: bool,
        /// Mean, ns.
        pub mean: Option<f64>,
    } and then {
    }
}

impl Closed {
    fn mean_only(model: &str, exact: bool, mean: f64) -> Self {
        Self { model: model.into(), exact, mean: Some(mean), ..Self::default() }
    }

    fn full(model: &str, mean: f64, quantile: impl Fn(f64) -> f64) -> Self {
        Self::mean_only(model, true, mean).with_quantiles(|result| Some(quantile(result.q)))
    }
}

/// One entry of the table: what it says of itself, and its answer where it applies.
pub struct ClosedKind {
    /// Name, source.
    pub kind: Kind,
    /// The answer; `None` where the model is not of this form.
    pub apply: fn(&Model) -> Option<Closed>,
}

impl AsRef<Kind> for ClosedKind {
    fn as_ref(&self) -> &Kind {
        &self.kind
    }
}

/// Every formula for one queue, in reading order.
pub const KINDS: &[ClosedKind] =
    &[mm1::KIND, md1::KIND, mg1::KIND, mmn::KIND, mgn::LEE_LONGTON, mgn::KIMURA, ps::KIND];

/// All formulas that apply to `model`; empty if its utilisation is 1 or more.
pub fn all(model: &Model) -> Vec<Closed> {
    if model.utilisation() >= 1.0 {
        return Vec::new();
    }
    KINDS.iter().filter_map(|entry| (entry.apply)(model)).collect()
}

/// The `x` at which the increasing function `cdf` reaches `q`, by bisection to one in 10^12.
fn invert(q: f64, scale: f64, cdf: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, scale);
    while cdf(high) < q {
        low = high;
        high *= 2.0;
    }
    while high - low > 1e-12 * high {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if cdf(middle) < q { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(utilisation: f64, scv: f64, servers: u32) -> Model {
        Model {
            rate_per_ns: utilisation * f64::from(servers),
            service_ns: 1.0,
            service_scv: scv,
            is_exponential: scv == 1.0,
            servers,
            is_fcfs: true,
        }
    }

    #[test]
    fn all_exact_formulas_that_apply_agree_on_the_mean() {
        for (scv, servers) in [(1.0, 1), (0.0, 1), (1.0, 4)] {
            let result = all(&model(0.8, scv, servers));
            let means: Vec<f64> =
                result.iter().filter(|c| c.exact).filter_map(|c| c.mean).collect();
            assert!(!means.is_empty());
            assert!(means.iter().all(|m| (m / means[0] - 1.0).abs() < 1e-9), "{result:?}");
        }
    }

    #[test]
    fn approximations_are_exact_where_they_claim_to_be() {
        let exact = |c: &Closed| c.exact;
        for (scv, servers) in [(1.0, 1), (0.0, 1), (1.0, 4), (1.0, 16)] {
            let result = all(&model(0.9, scv, servers));
            let truth = result.iter().find(|c| exact(c)).unwrap().mean.unwrap();
            for guess in result.iter().filter(|c| !exact(c)) {
                assert!((guess.mean.unwrap() / truth - 1.0).abs() < 1e-9, "{guess:?} {truth}");
            }
        }
    }

    #[test]
    fn an_unstable_queue_has_no_closed_form() {
        assert!(all(&model(1.0, 1.0, 1)).is_empty());
    }

    /// METHOD M20: p95/S and p99/S of the M/M/1 at ρ = .5, .7, .8, .9.
    #[test]
    fn golden_numbers_of_the_oracle() {
        for (rho, p95, p99) in
            [(0.5, 5.99, 9.21), (0.7, 9.99, 15.35), (0.8, 14.98, 23.03), (0.9, 29.96, 46.05)]
        {
            let result = all(&model(rho, 1.0, 1));
            assert!((result[0].p95.unwrap() - p95).abs() < 0.005, "{rho}");
            assert!((result[0].p99.unwrap() - p99).abs() < 0.005, "{rho}");
        }
    }
}
