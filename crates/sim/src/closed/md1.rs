//! M/D/1: the exact distribution of the waiting time.
//!
//! Erlang's own sum alternates in sign and loses all digits at high load. Franx's form has only
//! positive terms: for (k−1)D ≤ x < kD,
//!
//! ```text
//! P(W ≤ x) = Σ_{j=0}^{k−1} Q_{k−1−j} · e^{−u} u^j / j!,   u = λ(kD − x)
//! ```
//!
//! where `Q_i` is the probability that at most i requests *wait* (i + 1 are in the system).

use sojourn_base::kind::Kind;

use super::{Closed, ClosedKind, Model, invert, mg1};

pub(super) const KIND: ClosedKind = ClosedKind {
    kind: Kind {
        name: "M/D/1",
        about: "Poisson arrivals, fixed service, one server, FCFS: exact distribution",
        usage: "",
        params: &[],
        needs: &[],
        source: "Franx, A simple solution for the M/D/c waiting time distribution, OR Letters 29 (2001)",
    },
    apply,
};

fn apply(model: &Model) -> Option<Closed> {
    if model.servers != 1 || model.service_scv != 0.0 || !model.is_fcfs {
        return None;
    }
    let queue = Md1::new(model.rate_per_ns, model.service_ns)?;
    Some(Closed::full("M/D/1", mg1::mean_sojourn(model), |q| queue.sojourn_quantile(q)))
}

/// One M/D/1 queue, with the state probabilities that its formula needs.
#[derive(Clone, Debug)]
pub struct Md1 {
    rate: f64,
    service: f64,
    /// P(at most i requests wait), ascending to 1.
    waiting: Vec<f64>,
}

/// State probabilities below this are left out; the largest error of the distribution.
const TAIL: f64 = 1e-13;

impl Md1 {
    /// `None` if the utilisation is not below 1.
    pub fn new(rate: f64, service: f64) -> Option<Self> {
        let rho = rate * service;
        if !(0.0..1.0).contains(&rho) {
            return None;
        }
        Some(Self { rate, service, waiting: waiting_at_most(rho) })
    }

    /// P(waiting time ≤ `x`), `x` in the unit of the service time.
    pub fn waiting_cdf(&self, x: f64) -> f64 {
        if x < 0.0 {
            return 0.0;
        }
        let k = (x / self.service).floor() as usize + 1;
        let u = self.rate * (k as f64 * self.service - x);
        let mut term = (-u).exp();
        let mut sum = 0.0;
        for j in 0..k {
            sum += term * self.waiting.get(k - 1 - j).copied().unwrap_or(1.0);
            term *= u / (j + 1) as f64;
            if term < TAIL * sum {
                break;
            }
        }
        sum.min(1.0)
    }

    /// The sojourn time, which is waiting plus the fixed service, at quantile `q`.
    pub fn sojourn_quantile(&self, q: f64) -> f64 {
        if self.waiting_cdf(0.0) >= q {
            return self.service;
        }
        self.service + invert(q, self.service, |x| self.waiting_cdf(x))
    }
}

/// `Q_i` for all i up to where 1 − `Q_i` falls below [`TAIL`].
///
/// State probabilities by level crossing: all terms are positive, so nothing cancels.
///
/// ```text
/// p(n+1) · P(A = 0) = p(0) · P(A > n) + Σ_{i=1}^{n} p(i) · P(A > n+1−i),   A ~ Poisson(ρ)
/// ```
fn waiting_at_most(rho: f64) -> Vec<f64> {
    let above = poisson_above(rho);
    let tail = |n: usize| above.get(n).copied().unwrap_or(0.0);
    let mut state = vec![1.0 - rho];
    let mut sum = state[0];
    let mut waiting = Vec::new();
    while 1.0 - sum > TAIL && state.len() < 200_000 {
        let n = state.len() - 1;
        let reach = above.len();
        let from = (n + 1).saturating_sub(reach).max(1);
        let up: f64 = (from..=n).map(|i| state[i] * tail(n + 1 - i)).sum();
        let next = (state[0] * tail(n) + up) / (-rho).exp();
        state.push(next);
        sum += next;
        waiting.push(sum);
        if next < TAIL * 1e-3 {
            break;
        }
    }
    waiting
}

/// P(A > n) for n = 0, 1, … while it matters. Summed from the far end, smallest first.
fn poisson_above(mean: f64) -> Vec<f64> {
    let mut mass = vec![(-mean).exp()];
    while mass.last().is_some_and(|&m| m > 1e-18) || mass.len() < 3 {
        let n = mass.len() as f64;
        mass.push(mass[mass.len() - 1] * mean / n);
    }
    let mut above = vec![0.0; mass.len()];
    for n in (0..mass.len() - 1).rev() {
        above[n] = above[n + 1] + mass[n + 1];
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Erlang's alternating sum, exact enough for a few services.
    fn erlang(rate: f64, service: f64, x: f64) -> f64 {
        let mut sum = 0.0;
        for k in 0..=(x / service).floor() as i32 {
            let u = -rate * (x - f64::from(k) * service);
            let factorial: f64 = (1..=k).map(f64::from).product();
            sum += u.powi(k) / factorial * (-u).exp();
        }
        (1.0 - rate * service) * sum
    }

    #[test]
    fn agrees_with_erlangs_sum_where_that_has_digits() {
        for rho in [0.3, 0.5, 0.8, 0.95] {
            let queue = Md1::new(rho, 1.0).unwrap();
            for x in [0.0, 0.3, 0.999, 1.0, 1.7, 3.2, 6.5] {
                let (got, want) = (queue.waiting_cdf(x), erlang(rho, 1.0, x));
                assert!((got - want).abs() < 1e-10, "rho {rho} x {x}: {got} {want}");
            }
        }
    }

    #[test]
    fn mean_of_the_distribution_is_pollaczek_khinchine() {
        for rho in [0.5, 0.9, 0.95] {
            let queue = Md1::new(rho, 1.0).unwrap();
            let step = 0.001;
            let mean: f64 = (0..400_000)
                .map(|i| (1.0 - queue.waiting_cdf((f64::from(i) + 0.5) * step)) * step)
                .sum();
            let want = rho / (2.0 * (1.0 - rho));
            assert!((mean / want - 1.0).abs() < 1e-5, "{rho}: {mean} {want}");
        }
    }

    #[test]
    fn distribution_function_never_falls() {
        let queue = Md1::new(0.95, 1.0).unwrap();
        let values: Vec<f64> =
            (0..20_000).map(|i| queue.waiting_cdf(f64::from(i) * 0.01)).collect();
        assert!(values.windows(2).all(|pair| pair[0] <= pair[1] + 1e-12));
    }
}
